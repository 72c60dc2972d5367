// Steady traffic: its pace, and when it keeps still.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Play } from './play.svelte';
import { REST, steady } from './steady';

let sent: number;
let answer: () => Promise<unknown>;
let failed: unknown[];
let play: Play;
let stop: () => void;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'performance'] });
  [sent, failed, answer] = [0, [], async () => {}];
  play = {
    cards: [{ rate: 10, busy: false }],
    quiet: false,
    send: () => {
      sent += 1;
      return answer();
    },
    failed: (error: unknown) => failed.push(error),
  } as unknown as Play;
  stop = steady(play);
});

afterEach(() => {
  stop();
  vi.useRealTimers();
});

it('keeps its pace, and ends with the page', async () => {
  await vi.advanceTimersByTimeAsync(2000);
  expect(sent).toBeGreaterThanOrEqual(19);
  expect(sent).toBeLessThanOrEqual(20);
  stop();
  await vi.advanceTimersByTimeAsync(1000);
  expect(sent).toBeLessThanOrEqual(20);
});

it('has one call under way, and makes up for little', async () => {
  let come = () => {};
  answer = () => new Promise<void>((done) => (come = done));
  await vi.advanceTimersByTimeAsync(5000);
  expect(sent).toBe(1);
  answer = async () => {};
  come();
  await vi.advanceTimersByTimeAsync(100);
  expect(sent).toBeLessThanOrEqual(5);
});

it('rests after a call that failed', async () => {
  answer = () => Promise.reject(new Error('away'));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(sent).toBeGreaterThan(5);
  expect(sent).toBeLessThanOrEqual(10_000 / REST);
  expect(failed.length).toBe(sent);
});

it('keeps still while something else is shown, at a busy card, and at none', async () => {
  play.quiet = true;
  await vi.advanceTimersByTimeAsync(1000);
  play.quiet = false;
  for (const own of play.cards) own.busy = true;
  await vi.advanceTimersByTimeAsync(1000);
  for (const own of play.cards) [own.busy, own.rate] = [false, 0];
  await vi.advanceTimersByTimeAsync(1000);
  expect(sent).toBe(0);
});
