// What is left, in words, and in which order.
import { expect, test } from 'vitest';
import type { Bucket } from '../lib/api';
import { apart, isUsed, left, retry, source, whole } from './left';

const bucket = (own: Partial<Bucket>): Bucket => ({
  rule: 'api',
  allowed: true,
  limit: 10,
  remaining: 10,
  retry_after: null,
  reset_after: 0,
  delay: null,
  never: false,
  shadow: false,
  key: ['alice'],
  kinds: ['user'],
  version: 7,
  limits: ['10/minute'],
  algorithms: ['token_bucket'],
  source: 'store',
  ...own,
});

// Goal: used is what lacks something, or refuses; a window that only has an edge ahead is not.
// Method: both sides of whole, no limit, and a whole window that resets.
test('a bucket is used if something is gone', () => {
  expect(isUsed(bucket({ remaining: 10 }))).toBe(false);
  expect(isUsed(bucket({ remaining: 9 }))).toBe(true);
  expect(isUsed(bucket({ limit: null, remaining: null }))).toBe(false);
  expect(isUsed(bucket({ allowed: false }))).toBe(true);
  expect(isUsed(bucket({ reset_after: 31 }))).toBe(false);
});

// Goal: the emptiest comes first, and the untouched are apart.
// Method: three that are used by other parts, of other sizes, and two that are not.
test('the emptiest is first', () => {
  const all = [
    bucket({ rule: 'whole' }),
    bucket({ rule: 'half', remaining: 5 }),
    bucket({ rule: 'large', limit: 100, remaining: 20 }),
    bucket({ rule: 'empty', remaining: 0 }),
    bucket({ rule: 'free', limit: null, remaining: null }),
  ];
  const { used, untouched } = apart(all);
  expect(used.map((one) => one.rule)).toEqual(['empty', 'large', 'half']);
  expect(untouched.map((one) => one.rule)).toEqual(['whole', 'free']);
  expect(all[0]?.rule).toBe('whole');
});

// Goal: figures are told in words.
// Method: each kind of answer, and what is none.
test('what is left and when more is there is told', () => {
  expect(left(bucket({ remaining: 3 }))).toBe('3 of 10 left');
  expect(left(bucket({ limit: null, remaining: null }))).toBe('unlimited');
  expect(retry(bucket({}))).toBe(null);
  expect(retry(bucket({ retry_after: 0 }))).toBe(null);
  expect(retry(bucket({ allowed: false, retry_after: 12.4 }))).toBe('next in 12.4\u00a0s');
  expect(retry(bucket({ never: true, retry_after: 1 }))).toBe('no try will pass');
  expect(retry(bucket({ delay: 2 }))).toBe('the next waits 2\u00a0s');
  expect(whole(bucket({ reset_after: 31 }))).toBe('whole');
  expect(whole(bucket({ remaining: 9, reset_after: 31 }))).toBe('whole again in 31\u00a0s');
  expect(whole(bucket({ remaining: 9, reset_after: null }))).toBe('whole when permits are given back');
});

// Goal: where figures are from is only told where it is unusual.
// Method: the usual, one that is known, one that is not.
test('only another source is told', () => {
  expect(source({ source: 'store' })).toBe(null);
  expect(source({ source: 'local' })).toContain('this node’s share');
  expect(source({ source: 'moon' })).toBe('moon');
});
