// The server's time, as far as answers tell it.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { note, now } from './time';

const NOON = Date.parse('2026-11-18T12:00:00Z');
const told = (at: number) => new Date(at).toUTCString();

beforeEach(() => void vi.useFakeTimers({ now: NOON }));
afterEach(() => void vi.useRealTimers());

// Goal: a clock that is off is seen, one that may be right is believed, and what is no date says nothing.
// Method: the same second, a minute ahead, the same by a slow answer, no date, and right again.
test('the server’s time is what its answers allow', () => {
  note(told(NOON), NOON, NOON + 20);
  expect(now()).toBe(NOON);
  note(told(NOON + 60_000), NOON, NOON + 20);
  expect(now()).toBe(NOON + 59_980);
  note(told(NOON + 60_000), NOON - 8000, NOON);
  note(null, NOON, NOON);
  note('soon', NOON, NOON);
  expect(now()).toBe(NOON + 60_000);
  note(told(NOON - 500), NOON, NOON + 20);
  expect(now()).toBe(NOON);
});
