// Lines are painted as they are read, and stay what they are.
import { expect, test } from 'vitest';
import { paint, WIDTH_MAX } from './paint';

/** The pieces that are not plain, as `kind text`. */
const told = (line: string) =>
  paint(line)
    .filter((piece) => piece.kind !== 'plain' && piece.kind !== 'sign')
    .map((piece) => `${piece.kind} ${piece.text}`);

const LINES = [
  '',
  '# all of it',
  '  - id: api  # two tiers',
  '  - {id: api, key: [user, ip], limit: 60/minute}',
  'match: {path: "/v1/#not/**", headers: {"X-A": \'it\'\'s\'}}',
  'until: "2099-01-31T18:00:00Z"',
  'store: redis://127.0.0.1:6379/0',
  'broken: "never ended',
  '\tlimit:\t5/s ',
  '# 😀 `x`',
];

// Goal: nothing is lost or added.
// Method: many lines, put together again.
test('the pieces of a line are the line', () => {
  for (const line of LINES)
    expect(
      paint(line, [1, 4, 99])
        .map((piece) => piece.text)
        .join(''),
    ).toBe(line);
});

// Goal: keys, strings and comments are told apart.
// Method: lines with their pieces written down.
test('keys, strings and comments are found', () => {
  expect(told('  - id: api  # two tiers')).toEqual(['key id', 'comment # two tiers']);
  expect(told('{id: api, "k": \'v\'}')).toEqual(['key id', 'key "k"', "string 'v'"]);
  expect(told('broken: "never ended')).toEqual(['key broken', 'string "never ended']);
});

// Goal: what only looks like a comment or a key is neither.
// Method: a hash within a word or a string, a colon within a word.
test('a hash or a colon within a word is part of it', () => {
  expect(told('path: /a#b')).toEqual(['key path']);
  expect(told('path: "/a #b"')).toEqual(['key path', 'string "/a #b"']);
  expect(told('store: redis://h:6379/0')).toEqual(['key store']);
  expect(told('a:')).toEqual(['key a']);
  expect(told('a:b')).toEqual([]);
});

// Goal: a fault is marked from its column to the end of its word.
// Method: a column at the beginning of a word, within one, and beyond the line.
test('a fault marks the rest of its word', () => {
  const bad = (line: string, columns: number[]) =>
    paint(line, columns)
      .filter((piece) => piece.bad)
      .map((piece) => piece.text);
  expect(bad('limit: 100/min # x', [8])).toEqual(['100/min']);
  expect(bad('limit: 100/min', [12])).toEqual(['min']);
  expect(bad('limit: 100/min', [15])).toEqual([]);
  expect(bad('{a: b, c: d}', [2, 8])).toEqual(['a', 'c']);
  expect(bad('"😀", x', [5])).toEqual([' ']);
});

// Goal: a line that is too long costs nothing.
// Method: as long as it may be, and one more.
test('a line that is too long is plain', () => {
  expect(paint('#'.repeat(WIDTH_MAX))[0]?.kind).toBe('comment');
  expect(paint('#'.repeat(WIDTH_MAX + 1))[0]?.kind).toBe('plain');
});
