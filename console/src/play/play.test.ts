import { describe, expect, it } from 'vitest';
import type { State, Told } from './api';
import { ServerClock } from './clock';
import { Events, KEPT, Most, STRIP } from './events';
import { evolve, faded, isIdle, left, nextEdge, waiting, weight } from './evolve';
import { readable } from './kept';
import { curl, leftOf, promise } from './words';

function told(state: State, of: Partial<Told> = {}): Told {
  const base: Told = {
    at: 100,
    now: 100,
    allowed: true,
    limit: 10,
    remaining: 0,
    retry_after: null,
    reset_after: 0,
    delay: null,
    never: false,
    source: 'store',
    amount: 10,
    period: 10,
    burst: 10,
    status: 200,
    fields: [],
    state,
  };
  return { ...base, ...of };
}

const leftAt = (own: Told, now: number) => {
  const state = evolve(own, now);
  return state && left(own, state, now);
};

describe('a state as time passes', () => {
  it('keeps a fixed window until its edge, and is empty at it', () => {
    const own = told({ kind: 'window', start: 100, end: 110, count: 7 });
    expect(leftAt(own, 109.999)).toBe(3);
    expect(leftAt(own, 110)).toBe(10);
    expect(evolve(own, 131)).toEqual({ kind: 'window', start: 130, end: 140, count: 0 });
  });

  it('lets the entries of a log fall out one by one', () => {
    const entries = [
      { at: 100, cost: 2 },
      { at: 104, cost: 1 },
    ];
    const own = told({ kind: 'log', entries });
    expect(leftAt(own, 109.999)).toBe(7);
    expect(leftAt(own, 110)).toBe(9);
    expect(leftAt(own, 114)).toBe(10);
  });

  it('weighs the window before by what of it is covered', () => {
    const own = told({ kind: 'windows', start: 100, end: 110, current: 3, previous: 8 });
    expect(weight(100, 10, 105)).toBe(0.5);
    expect(leftAt(own, 105)).toBe(10 - 3 - 4);
    // 8 × 0.51 is counted as 5.
    expect(leftAt(own, 104.9)).toBe(10 - 3 - 5);
    expect(evolve(own, 110)).toEqual({ kind: 'windows', start: 110, end: 120, current: 0, previous: 3 });
    expect(evolve(own, 120)).toEqual({ kind: 'windows', start: 120, end: 130, current: 0, previous: 0 });
    expect(faded({ kind: 'windows', start: 100, end: 110, current: 0, previous: 8 }, 10, 120)).toBe(0);
  });

  it('fills a bucket at its rate, and counts whole tokens only', () => {
    const own = told({ kind: 'bucket', level: 3, whole_at: 103 }, { amount: 1, period: 1 });
    expect(leftAt(own, 100)).toBe(7);
    expect(leftAt(own, 100.999)).toBe(7);
    expect(leftAt(own, 101)).toBe(8);
    expect(leftAt(own, 200)).toBe(10);
    expect(isIdle(evolve(own, 102.9)!)).toBe(false);
    expect(isIdle(evolve(own, 103)!)).toBe(true);
  });

  it('is not moved back by a clock that is behind', () => {
    const own = told({ kind: 'queue', level: 3, whole_at: 103 }, { amount: 1, period: 1 });
    expect(evolve(own, 0)).toEqual({ kind: 'queue', level: 3, whole_at: 103 });
    expect(leftAt(own, 0)).toBe(7);
  });

  it('is nothing where the server knew nothing', () => {
    expect(evolve({ ...told({ kind: 'log', entries: [] }), state: null }, 1)).toBeNull();
  });

  it('counts who waits in a queue, without the one whose turn it is', () => {
    expect([0, 0.4, 1, 1.001, 2, 2.5, 10].map(waiting)).toEqual([0, 0, 0, 1, 1, 2, 9]);
  });

  it('finds the next edge, and the one after it where there is no time', () => {
    expect(nextEdge(101, 10, 1)).toBe(110);
    expect(nextEdge(108.9, 10, 1)).toBe(110);
    expect(nextEdge(109, 10, 1)).toBe(120);
  });
});

describe('what happened', () => {
  it('counts the most in any window, both sides of its length', () => {
    const most = new Most();
    for (let at = 0; at < 10; at += 1) most.add(at, 1, 10);
    expect(most.value).toBe(10);
    most.add(10, 1, 10);
    expect(most.value).toBe(10);
    most.add(10.5, 2, 10);
    expect(most.value).toBe(12);
    most.clear();
    expect(most.value).toBe(0);
  });

  it('sees a double burst around an edge', () => {
    const most = new Most();
    for (let at = 0; at < 10; at += 1) most.add(109.5 + at / 100, 1, 10);
    for (let at = 0; at < 10; at += 1) most.add(110 + at / 100, 1, 10);
    expect(most.value).toBe(20);
  });

  it('keeps what a strip shows, and not more', () => {
    const events = new Events();
    for (let at = 0; at < KEPT + 5; at += 1) events.add({ at, kind: 'allowed', cost: 1 });
    expect(events.all.length).toBe(KEPT);
    const now = KEPT + 4;
    events.prune(now);
    expect(events.all[0]?.at).toBe(now - STRIP);
    expect(events.count('allowed')).toBe(STRIP + 1);
    expect(events.count('refused')).toBe(0);
  });
});

describe('the clock', () => {
  it('believes the quickest answer', () => {
    const clock = new ServerClock();
    expect(clock.isKnown).toBe(false);
    clock.note(1000, 0, 400);
    clock.note(1001, 1000, 1010);
    clock.note(1005, 2000, 2900);
    expect(clock.usual).toBe(0.4);
    expect(clock.now(1005)).toBeCloseTo(1001, 6);
    expect(clock.now(3005)).toBeCloseTo(1003, 6);
  });

  it('is followed at once where it was set anew', () => {
    const clock = new ServerClock();
    expect(clock.note(1000, 0, 10)).toBe(false);
    // Another node's, or a slow answer's.
    expect(clock.note(997, 1000, 1010)).toBe(false);
    expect(clock.note(1010, 2000, 22_000)).toBe(false);
    expect(clock.note(940, 23_000, 23_010)).toBe(true);
    expect(clock.now(23_005)).toBeCloseTo(940, 6);
    expect(clock.note(941, 24_000, 24_010)).toBe(false);
  });
});

describe('what a browser keeps', () => {
  const cards = [{ algorithm: 'fixed_window', mode: 'policing', limit: '10/10s' }];
  it('is read where it makes sense, and dropped where it does not', () => {
    const read = (visitor: unknown, list: unknown) => readable(JSON.stringify({ visitor, cards: list }));
    expect(read('visitor-1', cards)).toEqual({ visitor: 'visitor-1', cards });
    expect(
      read('visitor-1', [null, 7, { algorithm: 'x' }, { ...cards[0], limit: 5 }, ...cards])?.cards,
    ).toEqual(cards);
    for (const visitor of ['', 'short', 'a b c d e f', 'x'.repeat(65), 7, null])
      expect(read(visitor, cards)).toBeNull();
    expect(read('visitor-1', {})).toBeNull();
    expect(readable('null')).toBeNull();
  });
});

describe('words', () => {
  it('promises what the numbers say', () => {
    const own = told({ kind: 'window', start: 0, end: 10, count: 0 });
    const card = { algorithm: 'fixed_window', mode: 'policing', limit: '10/10s' } as const;
    expect(promise(card, own)).toContain('up to 20 around an edge');
    expect(leftOf(own, 3)).toBe('3 of 10 left');
    expect(leftOf(null, null)).toBe('–');
    expect(curl('http://x', 'visitor-1', card, 2, 'local')).toBe(
      `curl --json '{"visitor":"visitor-1","cards":[{"algorithm":"fixed_window","mode":"policing","limit":"10/10s"}],"cost":2}' http://x/v1/playground/send`,
    );
    expect(curl('http://x', 'visitor-1', card, 2, 'token')).toContain(
      `}' -H "Authorization: Bearer $TOKEN" http://x/`,
    );
  });
});
