// Moments and lengths of time, as these pages show them.
import { expect, test } from 'vitest';
import { exact, fine, moment } from '../lib/format';

// Goal: a moment is exact to the microsecond, also where a second ends.
// Method: whole seconds, the last microsecond before one, and what rounds up to one. The hour is the reader's.
test('a moment is exact', () => {
  expect(exact(1794966421)).toMatch(/^\d\d:\d\d:01\.000000$/);
  expect(exact(1794966421.551029)).toMatch(/:01\.551029$/);
  expect(exact(1794966421.999999)).toMatch(/:01\.999999$/);
  expect(exact(1794966421.9999998)).toMatch(/:02\.000000$/);
});

// Goal: seconds have a tenth, as long as that is more than noise.
// Method: both sides of both ends.
test('seconds are told finely', () => {
  expect(fine(12.4)).toBe('12.4\u00a0s');
  expect(fine(12)).toBe('12\u00a0s');
  expect(fine(0.9)).toBe('900\u00a0ms');
  expect(fine(1)).toBe('1\u00a0s');
  expect(fine(99.94)).toBe('99.9\u00a0s');
  expect(fine(99.96)).toBe('1.7\u00a0min');
});

// Goal: the day is told where it is another, and the year where that is.
// Method: today, another day, another year, and what is no time.
test('a moment has a day if it is another', () => {
  const now = new Date(2026, 10, 18, 12, 0).getTime();
  expect(moment(new Date(2026, 10, 18, 23, 59).toISOString(), now)).toBe('23:59');
  expect(moment(new Date(2026, 10, 19, 0, 0).toISOString(), now)).toMatch(/19.*, 00:00$/);
  expect(moment(new Date(2026, 10, 19, 0, 0).toISOString(), now)).not.toContain('2026');
  expect(moment(new Date(2027, 0, 2, 3, 4).getTime() / 1000, now)).toMatch(/2027.*03:04$/);
  expect(moment('soon', now)).toBe('soon');
});
