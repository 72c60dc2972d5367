// Addresses of callers and decisions.
import { expect, test } from 'vitest';
import { idOf, keyOf, PARTS_MAX, pasted, toId, toKey } from './hash';

// Goal: a key is the same after it was an address.
// Method: parts with every sign that an address gives a meaning, and a part that is empty.
test('a key is read back as it was written', () => {
  for (const key of [['alice'], ['a&b=c?d#e', '/partner/**'], ['ä 😀+%'], ['', 'x']]) {
    expect(keyOf(toKey(key))).toEqual(key);
  }
  expect(toKey([])).toBe('#keys');
});

// Goal: an address without a caller names none, and none has too many parts.
// Method: no question mark, an empty part, as many parts as there may be, and one more.
test('an address may name nobody', () => {
  expect(keyOf('#keys')).toEqual([]);
  expect(keyOf('#keys?key=')).toEqual([]);
  expect(keyOf('#keys?key=a%20b&other=1&key=c')).toEqual(['a b', 'c']);
  const many = (length: number) => toKey(Array.from({ length }, () => 'a'));
  expect(keyOf(many(PARTS_MAX)).length).toBe(PARTS_MAX);
  expect(keyOf(many(PARTS_MAX + 1)).length).toBe(PARTS_MAX);
});

// Goal: a decision is found by its address, and by what somebody pasted.
// Method: with a header field's name, with quotes, with neither.
test('a decision is named by its id', () => {
  expect(idOf(toId('01M8ZQ'))).toBe('01M8ZQ');
  expect(idOf('#decisions')).toBe(null);
  expect(idOf('#decisions?id=%20')).toBe(null);
  expect(pasted(' X-Ratekeeper-Decision: 01M8ZQ\n')).toBe('01M8ZQ');
  expect(pasted('x-ratekeeper-decision:01M8ZQ')).toBe('01M8ZQ');
  expect(pasted('"01M8ZQ",')).toBe('01M8ZQ');
  expect(pasted('01M8ZQ')).toBe('01M8ZQ');
});
