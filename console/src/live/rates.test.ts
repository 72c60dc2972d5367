// Paces between two polls, rows that hold still, and what a filter leaves.
import { describe, expect, it } from 'vitest';
import type { Frequent, Top } from '../lib/api';
import { busiest, keysOf, rulesOf } from './filter';
import { id, paces, poll, STALE, steady } from './rates';

const frequent = (hash: string, count: number, refused = 0, more: Partial<Frequent> = {}): Frequent => ({
  rule: 'api',
  key: [hash],
  kinds: ['key'],
  hash,
  count,
  refused,
  error: 0,
  ...more,
});

const top = (seconds: number, keys: Frequent[], refused: Frequent[] = []): Top => ({
  seconds,
  version: 1,
  node: 'web-1',
  rules: [],
  keys,
  refused,
});

describe('a pace', () => {
  const before = poll(top(10, [frequent('a', 100, 10)], [frequent('b', 5, 5)]));

  it('is the difference between two polls, a second', () => {
    const found = paces(before, poll(top(12, [frequent('a', 110, 11), frequent('b', 5, 5)])));
    expect(found.get('a api')).toEqual({ count: 5, refused: 0.5 });
    expect(found.get('b api')).toEqual({ count: 0, refused: 0 });
  });

  it('is not known of a key that is new, or whose count fell', () => {
    const other = frequent('a', 200, 10, { rule: 'login' });
    const found = paces(before, poll(top(12, [frequent('a', 99, 10), frequent('c', 9), other])));
    expect(found.size).toBe(0);
  });

  it('is not known at first, after a restart, or after a pause', () => {
    const keys = [frequent('a', 110, 10)];
    expect(paces(null, poll(top(12, keys))).size).toBe(0);
    expect(paces(before, poll(top(10, keys))).size).toBe(0);
    expect(paces(before, poll(top(1, keys))).size).toBe(0);
    expect(paces(before, poll(top(10 + STALE, keys))).size).toBe(1);
    expect(paces(before, poll(top(10 + STALE + 0.1, keys))).size).toBe(0);
  });
});

it('rows hold their places, and new ones come last', () => {
  const rows = [frequent('new', 9), frequent('b', 8), frequent('a', 7)];
  const order = [frequent('a', 1), frequent('gone', 1), frequent('b', 1)].map(id);
  expect(steady(rows, order).map((row) => row.hash)).toEqual(['a', 'b', 'new']);
});

describe('a filter', () => {
  it('finds rules by name, in whatever case', () => {
    const names = ['api', 'Login', 'login-slow'];
    expect(rulesOf(names, 'LOG')).toEqual(['Login', 'login-slow']);
    expect(rulesOf(names, ' slow  log ')).toEqual(['login-slow']);
    expect(rulesOf(names, '  ')).toEqual(names);
    expect(rulesOf(names, 'apix')).toEqual([]);
  });

  it('finds keys by any part, by hash, and by rule', () => {
    const rows = [
      frequent('00aa', 1, 0, { key: ['Acme', '/orders/*'] }),
      frequent('00bb', 1, 0, { key: null, rule: 'login' }),
    ];
    const found = (text: string) => keysOf(rows, text).map((row) => row.hash);
    expect(found('acme')).toEqual(['00aa']);
    expect(found('orders api')).toEqual(['00aa']);
    expect(found('00bb')).toEqual(['00bb']);
    expect(found('login')).toEqual(['00bb']);
    expect(found('acme login')).toEqual([]);
  });

  it('shows the busiest by name if there are too many', () => {
    const did = (name: string) => name.charCodeAt(0);
    expect(busiest(['c', 'b', 'a'], did, 3)).toEqual({ shown: ['c', 'b', 'a'], left: 0 });
    expect(busiest(['a', 'b', 'c'], did, 2)).toEqual({ shown: ['b', 'c'], left: 1 });
  });
});
