// Quantiles of buckets: on both sides of a bucket's end, and of the minute.
import { describe, expect, it } from 'vitest';
import { atMost, quantile, Recent } from './buckets';

describe('a quantile', () => {
  it('is the end of the bucket that the rank falls in', () => {
    const all: [number, number][] = [
      [1, 50],
      [2, 49],
      [3, 1],
    ];
    expect(quantile(all, 0.5)).toBe(1);
    expect(quantile(all, 0.51)).toBe(2);
    expect(quantile(all, 0.99)).toBe(2);
    expect(quantile(all, 0.991)).toBe(3);
    expect(quantile(all, 0)).toBe(1);
    expect(quantile(all, 1)).toBe(3);
  });

  it('passes buckets in which nothing is', () => {
    expect(
      quantile(
        [
          [1, 0],
          [2, 1],
        ],
        0.5,
      ),
    ).toBe(2);
  });

  it('of nothing is not known', () => {
    expect(quantile([], 0.5)).toBe(null);
    expect(quantile([[1, 0]], 0.5)).toBe(null);
  });
});

describe('the last minute', () => {
  it('counts 60 seconds, and not one more', () => {
    const recent = new Recent();
    recent.add(100, [[9, 1000]]);
    recent.add(159.9, [[1, 1]]);
    expect(recent.quantiles([0.5])).toEqual([9]);
    recent.add(160, [[1, 1]]);
    expect(recent.quantiles([0.5])).toEqual([1]);
  });

  it('adds the same buckets of all seconds, in whatever order they come', () => {
    const recent = new Recent();
    recent.add(1, [
      [null, 1],
      [0.5, 1],
    ]);
    recent.add(2, [[0.25, 2]]);
    expect(recent.quantiles([0.5, 0.75, 0.76])).toEqual([0.25, 0.5, Infinity]);
  });

  it('forgets what is told anew', () => {
    const recent = new Recent();
    recent.add(1, [[1, 10]]);
    recent.add(1, [[2, 1]]);
    expect(recent.quantiles([0.5])).toEqual([2]);
  });

  it('is bounded however fast seconds come', () => {
    const recent = new Recent();
    recent.add(0.001, [[9, 1000]]);
    for (let i = 2; i <= 60; i++) recent.add(i / 1000, [[1, 1]]);
    expect(recent.quantiles([0.5])).toEqual([9]);
    recent.add(0.061, [[1, 1]]);
    expect(recent.quantiles([0.5])).toEqual([1]);
  });
});

it('says no less than what was', () => {
  expect(atMost(0.000025)).toBe('≤\u00a025\u00a0µs');
  expect(atMost(Infinity)).toBe('>\u00a010\u00a0s');
  expect(atMost(null)).toBe('–');
});
