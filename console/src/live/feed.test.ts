// The stream: that it comes back, that it ends with the page, and that a pause is one.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AGAIN, Feed, PACE, QUIET, type Second } from './feed.svelte';

class Source extends EventTarget {
  static readonly CLOSED = 2;
  static all: Source[] = [];
  static get last(): Source {
    const found = Source.all.at(-1);
    if (!found) throw new Error('nothing was opened');
    return found;
  }
  readyState = 1;
  constructor(readonly url: string) {
    super();
    Source.all.push(this);
  }
  close(): void {
    this.readyState = 2;
  }
  tell(event: string, data: unknown): void {
    this.dispatchEvent(new MessageEvent(event, { data: JSON.stringify(data) }));
  }
  fail(readyState: number): void {
    this.readyState = readyState;
    this.dispatchEvent(new Event('error'));
  }
}

const second = (at: number, allowed: number, more: Partial<Second> = {}): Second => ({
  at,
  seconds: 1,
  node: 'web-1',
  version: 1,
  rules: [{ rule: 'api', allowed, refused: 0, delayed: 0, shadow_refused: 0 }],
  decision_seconds: [[0.00001, allowed]],
  store_seconds: [],
  store: { kind: 'memory', degraded: false, breaker_open: false, memory_bytes: null, evicted_keys: null },
  memory: { keys: 1, keys_max: 10, bytes: 1, created: 0, expired: 0, evicted: 2 },
  switches: [],
  fault: null,
  ...more,
});

const document = Object.assign(new EventTarget(), { hidden: false });
let feed: Feed;
let leave: () => void;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
  vi.stubGlobal('EventSource', Source);
  vi.stubGlobal('document', document);
  vi.stubGlobal('fetch', async () => new Response('{"detail":"too many listen"}', { status: 503 }));
  document.hidden = false;
  Source.all = [];
  feed = new Feed();
  leave = feed.open();
});

afterEach(() => {
  leave();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A second passes, and is told. */
function pass(at: number, allowed: number, more: Partial<Second> = {}): void {
  vi.advanceTimersByTime(1000);
  Source.last.tell('figures', second(at, allowed, more));
}

const allowed = () => feed.shown?.ring.all.sums.allowed;

describe('a connection', () => {
  it('shows a history at once, and the first second right after', () => {
    expect([feed.state, feed.shown]).toEqual(['loading', null]);
    Source.last.tell('history', { node: 'web-1', at: [1], rules: {} });
    expect([feed.state, feed.shown?.second]).toEqual(['live', null]);
    Source.last.tell('figures', second(2, 5));
    expect(feed.shown?.second?.at).toBe(2);
    expect([feed.shown?.decision, feed.shown?.store.p50]).toEqual([{ p50: 0.00001, p99: 0.00001 }, null]);
  });

  it('that was closed is opened again after two seconds', () => {
    Source.last.fail(2);
    expect(feed.state).toBe('broken');
    vi.advanceTimersByTime(AGAIN - 1);
    expect(Source.all.length).toBe(1);
    vi.advanceTimersByTime(1);
    expect(Source.all.length).toBe(2);
    pass(1, 5);
    expect(feed.state).toBe('live');
  });

  it('that is refused says why, until one is not', async () => {
    Source.last.fail(2);
    await vi.waitFor(() => expect(feed.reason).toBe('too many listen'));
    vi.advanceTimersByTime(AGAIN);
    pass(1, 5);
    expect(feed.reason).toBe(null);
  });

  it('that the browser mends is left to it', () => {
    pass(1, 5);
    Source.last.fail(0);
    vi.advanceTimersByTime(AGAIN + 1);
    expect([feed.state, Source.all.length]).toEqual(['broken', 1]);
    Source.last.tell('figures', second(2, 5));
    expect(feed.state).toBe('live');
  });

  it('that says nothing is made anew', () => {
    pass(1, 5);
    vi.advanceTimersByTime(QUIET - 1);
    expect([feed.state, Source.all.length]).toEqual(['live', 1]);
    vi.advanceTimersByTime(1);
    expect([feed.state, Source.all.length]).toEqual(['broken', 2]);
    expect(Source.all[0]?.readyState).toBe(2);
  });

  it('ends with the page', () => {
    Source.last.fail(2);
    leave();
    vi.advanceTimersByTime(AGAIN + QUIET);
    expect(Source.all.map((source) => source.readyState)).toEqual([2]);
  });

  it('to another node begins anew', () => {
    pass(1, 5);
    Source.last.tell('history', { node: 'web-2', at: [7], rules: {} });
    expect([allowed(), feed.shown?.second]).toEqual([0, null]);
  });
});

describe('what is shown', () => {
  it('changes once a second at most, and misses nothing', () => {
    pass(1, 1);
    Source.last.tell('figures', second(2, 1));
    expect(feed.shown?.second?.at).toBe(1);
    vi.advanceTimersByTime(PACE - 1);
    expect(feed.shown?.second?.at).toBe(1);
    vi.advanceTimersByTime(1);
    expect([feed.shown?.second?.at, allowed()]).toEqual([2, 2]);
  });

  it('holds still while it is paused, and catches up', () => {
    pass(1, 1);
    feed.pause();
    pass(2, 1);
    expect([feed.shown?.second?.at, allowed()]).toEqual([1, 1]);
    feed.resume();
    expect([feed.shown?.second?.at, allowed()]).toEqual([2, 2]);
  });

  it('is not asked for while nobody can see it', () => {
    pass(1, 1);
    document.hidden = true;
    document.dispatchEvent(new Event('visibilitychange'));
    vi.advanceTimersByTime(QUIET + AGAIN);
    expect([feed.state, ...Source.all.map((source) => source.readyState)]).toEqual(['live', 2]);
    document.hidden = false;
    document.dispatchEvent(new Event('visibilitychange'));
    expect(Source.all.length).toBe(2);
    Source.last.tell('figures', second(2, 1));
    expect(feed.shown?.second?.at).toBe(2);
  });

  it('counts evicted keys of the last minute alone', () => {
    pass(100, 1);
    pass(159, 1);
    expect(feed.shown?.evicted).toBe(4);
    pass(160, 1);
    expect(feed.shown?.evicted).toBe(4);
  });
});
