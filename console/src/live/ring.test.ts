// The last 15 minutes: what is kept, what is forgotten, and what a broken stream leaves.
import { describe, expect, it } from 'vitest';
import type { Kind } from './kinds';
import { KEPT, Ring, type History, type Row } from './ring';

const row = (rule: string, allowed: number, refused = 0): Row => ({
  rule,
  allowed,
  refused,
  delayed: 0,
  shadow_refused: 0,
});

const told = (at: number[], rule: string, allowed: number[]): History => ({
  node: 'web-1',
  at,
  rules: {
    [rule]: {
      allowed,
      refused: allowed.map(() => 1),
      delayed: allowed.map(() => 0),
      shadow_refused: allowed.map(() => 0),
    },
  },
});

/** What a rule did, entry by entry. */
const column = (ring: Ring, rule: string, kind: Kind = 'allowed') => {
  const own = ring.rules.get(rule);
  return own && ring.at.map((_, i) => ring.value(own, kind, i));
};

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe('what is kept', () => {
  it('is 900 seconds, and not one more', () => {
    const ring = new Ring();
    for (const at of range(1, KEPT)) ring.add(at, 1, [row('api', 1)]);
    expect([ring.at[0], ring.at.length, ring.all.sums.allowed]).toEqual([1, KEPT, KEPT]);
    ring.add(KEPT + 1, 1, [row('api', 1)]);
    expect([ring.at[0], ring.at.length, ring.all.sums.allowed]).toEqual([2, KEPT, KEPT]);
    expect(column(ring, 'api')).toEqual(range(1, KEPT).map(() => 1));
  });

  it('is bounded by entries too, however fast they come', () => {
    const ring = new Ring();
    for (const at of range(1, 3 * KEPT)) ring.add(at / 10, 0.1, []);
    expect(ring.at.length).toBe(KEPT);
  });

  it('loses an entry when it is exactly 900 seconds old', () => {
    const ring = new Ring();
    ring.add(100, 1, [row('old', 5)]);
    ring.add(100 + KEPT - 0.5, 1, [row('api', 1)]);
    expect(ring.names).toEqual(['api', 'old']);
    ring.add(100 + KEPT, 1, [row('api', 1)]);
    expect(ring.names).toEqual(['api']);
    expect(ring.all.sums.allowed).toBe(2);
  });

  it('has a column of zeros for what a rule did before it was known', () => {
    const ring = new Ring();
    ring.add(1, 1, [row('api', 1)]);
    ring.add(2, 1, [row('login', 3, 4)]);
    expect(column(ring, 'login', 'refused')).toEqual([0, 4]);
    expect(column(ring, 'api')).toEqual([1, 0]);
    expect(ring.at.map((_, i) => ring.value(ring.all, 'allowed', i))).toEqual([1, 3]);
  });

  it('names rules anew only if they are others', () => {
    const ring = new Ring();
    ring.add(1, 1, [row('api', 1), row('idle', 0)]);
    const names = ring.names;
    expect(names).toEqual(['api']);
    ring.add(2, 1, [row('api', 1)]);
    expect(ring.names).toBe(names);
  });
});

describe('time', () => {
  it('that repeats itself is not counted twice', () => {
    const ring = new Ring();
    ring.add(100, 1, [row('api', 1)]);
    ring.add(100, 1, [row('api', 1)]);
    ring.add(95.1, 1, [row('api', 1)]);
    expect(ring.all.sums.allowed).toBe(1);
  });

  it('that was set back voids all before', () => {
    const ring = new Ring();
    ring.add(100, 1, [row('api', 7)]);
    ring.add(95, 1, [row('api', 1)]);
    expect([ring.at, ring.all.sums.allowed]).toEqual([[95], 1]);
  });
});

describe('a history', () => {
  it('takes the place of what it tells, and leaves what was before', () => {
    const ring = new Ring();
    for (const at of [10, 11, 12]) ring.add(at, 1, [row('old', 1)]);
    ring.history(told([12, 13], 'api', [4, 5]));
    expect(ring.at).toEqual([10, 11, 12, 13]);
    expect(ring.rules.get('old')?.sums.allowed).toBe(2);
    expect(column(ring, 'api')).toEqual([0, 0, 4, 5]);
    expect(ring.all.sums).toEqual({ allowed: 11, refused: 2, delayed: 0, shadow_refused: 0 });
  });

  it('that is longer than what is kept has its end kept', () => {
    const ring = new Ring();
    const at = range(1, KEPT + 2);
    ring.history(told(at, 'api', at));
    expect([ring.at[0], ring.at.length, ring.all.sums.refused]).toEqual([3, KEPT, KEPT]);
    expect(column(ring, 'api')).toEqual(ring.at);
  });

  it('is right wherever the ring stands', () => {
    const ring = new Ring();
    for (const at of range(1, KEPT + 7)) ring.add(at, 1, [row('api', at)]);
    ring.history(told([KEPT + 7, KEPT + 8], 'login', [4, 5]));
    ring.add(KEPT + 9, 1, [row('login', 6)]);
    expect([ring.at.length, column(ring, 'login')?.slice(-4)]).toEqual([KEPT, [0, 4, 5, 6]]);
    expect(column(ring, 'api')?.[0]).toBe(10);
  });

  it('of nothing changes nothing', () => {
    const ring = new Ring();
    ring.add(10, 1, [row('api', 1)]);
    ring.history({ node: 'web-1', at: [], rules: {} });
    expect(ring.at).toEqual([10]);
  });
});

describe('present rates', () => {
  it('are of the last five seconds alone', () => {
    const ring = new Ring();
    ring.add(95, 1, [row('api', 1000)]);
    for (const at of range(96, 100)) ring.add(at, 1, [row('api', 10, 5)]);
    expect(ring.rates(ring.all)).toEqual({ allowed: 10, refused: 5, delayed: 0, shadow_refused: 0 });
  });

  it('divide by the time that was counted, and by a second at least', () => {
    const ring = new Ring();
    ring.add(1, 0.01, [row('api', 3)]);
    expect(ring.rates(ring.all).allowed).toBe(3);
    ring.add(3, 1.99, [row('api', 3)]);
    expect(ring.rates(ring.all).allowed).toBe(3);
  });

  it('are 0 for a rule that is not known', () => {
    const ring = new Ring();
    ring.add(1, 1, [row('api', 3)]);
    expect(ring.rates(undefined).allowed).toBe(0);
  });
});

it('a copy does not change with the original', () => {
  const ring = new Ring();
  ring.add(1, 1, [row('api', 3)]);
  const copy = ring.copy();
  ring.add(2, 1, [row('api', 3), row('login', 1)]);
  expect([copy.at, copy.names, copy.all.sums.allowed]).toEqual([[1], ['api'], 3]);
  expect(column(copy, 'api')).toEqual([3]);
});
