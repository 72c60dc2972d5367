// The boundary burst against a server of which only the clock is real.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Told } from './api';
import { ahead, boundaryBurst, isWithin } from './boundary';
import type { Play } from './play.svelte';

const answer = (at: number) => ({ at }) as Told;

describe('how long before the edge it begins', () => {
  it('is near, has time for slow answers, and stays within a window', () => {
    expect(ahead(0.001, 10)).toBe(0.3);
    expect(ahead(0.05, 10)).toBe(1);
    expect(ahead(0.5, 10)).toBe(3);
    expect(ahead(0.5, 1)).toBe(0.5);
  });
});

describe('where answers were decided', () => {
  it('is seen on both sides of both edges', () => {
    expect(isWithin([answer(100), answer(109.999)], 100, 10)).toBe(true);
    expect(isWithin([answer(100), answer(110)], 100, 10)).toBe(false);
    expect(isWithin([answer(99.999)], 100, 10)).toBe(false);
  });
});

describe('a boundary burst', () => {
  /** When each burst was begun, and what steady traffic was told then. */
  let bursts: { at: number; quiet: boolean }[];
  const seconds = () => performance.now() / 1000;

  /** A page whose bursts are decided after so many seconds; null is one that fails. */
  function page(takes: (number | null)[]): Play {
    const card = (algorithm: string, most: number) => ({ card: { algorithm }, told: { period: 10 }, most });
    const play = {
      cards: [card('fixed_window', 20), card('token_bucket', 11), card('sliding_window_log', 10)],
      clock: { usual: 0.01, now: seconds },
      status: null as string | null,
      countdown: null,
      quiet: false,
      reset: async () => {},
      look: async () => {},
      burst: async () => {
        const took = takes[bursts.length] ?? null;
        bursts.push({ at: seconds(), quiet: play.quiet });
        return took === null ? null : [answer(seconds()), answer(seconds() + took)];
      },
    };
    return play as unknown as Play;
  }

  beforeEach(() => {
    bursts = [];
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    vi.advanceTimersByTime(4000);
  });
  afterEach(() => void vi.useRealTimers());

  async function run(play: Play, stopped = () => false): Promise<void> {
    const done = boundaryBurst(play, stopped);
    await vi.advanceTimersByTimeAsync(20_000);
    await done;
    expect([play.quiet, play.countdown]).toEqual([false, null]);
  }

  it('claims numbers if both halves were on their side', async () => {
    const play = page([0.1, 0.1]);
    await run(play);
    expect(bursts[0]?.at).toBeCloseTo(9.7, 1);
    expect(bursts[1]?.at).toBeCloseTo(10.02, 1);
    expect(bursts.every(({ quiet }) => quiet)).toBe(true);
    expect(play.status).toMatch(
      /^Around the edge the fixed window let 20 pass in 10.s, the others 11 at most\.$/,
    );
  });

  it('claims none if an answer crossed the edge, or one did not come', async () => {
    for (const [takes, words] of [
      [[0.5, 0.1], 'too slowly'],
      [[0.1, 11], 'too slowly'],
      [[null, 0.1], 'not every request'],
      [[0.1, null], 'not every request'],
    ] as const) {
      bursts = [];
      const play = page([...takes]);
      await run(play);
      expect(play.status).toContain(words);
      expect(play.status).not.toMatch(/\d/);
    }
    expect(bursts.length).toBe(2);
  });

  it('sends nothing if it is stopped, and says while it waits how long', async () => {
    const play = page([0.1, 0.1]);
    let stopped = false;
    const done = boundaryBurst(play, () => stopped);
    await vi.advanceTimersByTimeAsync(1000);
    expect(play.countdown).toMatch(/^The window's edge comes in \d/);
    const said = play.status;
    await vi.advanceTimersByTimeAsync(500);
    expect([play.status, play.quiet]).toEqual([said, true]);
    stopped = true;
    await vi.advanceTimersByTimeAsync(200);
    await done;
    expect([bursts.length, play.status, play.quiet]).toEqual([0, null, false]);
  });
});
