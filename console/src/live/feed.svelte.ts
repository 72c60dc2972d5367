// The stream of figures, and what of it is shown.
//
// Invariants: one connection at most, and none after the page is left, or while nobody can see it; one that broke, or
// says nothing, is made anew; what is shown changes once a second at most, and not at all while it is paused.
import { refusal } from '../lib/call';
import { RECENT, Recent, type Bucket } from './buckets';
import { Ring, type History, type Row } from './ring';

/** What `event: figures` tells. */
export interface Second {
  at: number;
  seconds: number;
  node: string;
  version: number;
  rules: Row[];
  decision_seconds: Bucket[];
  store_seconds: Bucket[];
  store: {
    kind: 'memory' | 'redis';
    degraded: boolean;
    breaker_open: boolean;
    memory_bytes: number | null;
    evicted_keys: number | null;
  };
  memory: {
    keys: number;
    keys_max: number;
    bytes: number;
    created: number;
    expired: number;
    evicted: number;
  };
  switches: { rule: string; rollout: string }[];
  fault: string | null;
}

/** How long half and nearly all took at most. */
export interface Times {
  p50: number | null;
  p99: number | null;
}

/** One moment of the page. */
export interface View {
  ring: Ring;
  second: Second | null;
  decision: Times;
  store: Times;
  /** Keys that had to make room in the last minute. */
  evicted: number;
}

/** Milliseconds: before a stream that was closed is opened again; of silence until it counts as broken; between two
    views. */
export const AGAIN = 2000;
export const QUIET = 6000;
export const PACE = 950;

export class Feed {
  state = $state<'loading' | 'live' | 'broken'>('loading');
  /** When it broke, in seconds since the epoch. */
  since = $state(0);
  /** Why the server refuses to tell them, in its words. */
  reason = $state<string | null>(null);
  paused = $state(false);
  shown = $state.raw<View | null>(null);

  private ring = new Ring();
  private decision = new Recent();
  private store = new Recent();
  private evicted: { at: number; keys: number }[] = [];
  private second: Second | null = null;
  private node: string | null = null;

  private source: EventSource | null = null;
  private again: ReturnType<typeof setTimeout> | undefined;
  private quiet: ReturnType<typeof setTimeout> | undefined;
  private due: ReturnType<typeof setTimeout> | undefined;
  private last = -Infinity;

  /** Listens until what it answers is called. */
  open(): () => void {
    const seen = () => (document.hidden ? this.close() : this.connect());
    document.addEventListener('visibilitychange', seen);
    seen();
    return () => {
      document.removeEventListener('visibilitychange', seen);
      this.close();
      clearTimeout(this.due);
    };
  }

  pause(): void {
    if (this.shown) this.shown = { ...this.shown, ring: this.shown.ring.copy() };
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    this.show();
  }

  private connect(): void {
    this.close();
    const source = new EventSource('/v1/stream');
    this.source = source;
    source.addEventListener('history', (event) => this.history(JSON.parse(event.data)));
    source.addEventListener('figures', (event) => this.figures(JSON.parse(event.data)));
    source.addEventListener('error', () => {
      this.broke();
      // The browser tries again by itself, unless the server gave an answer that is no stream.
      if (source.readyState === EventSource.CLOSED) void this.later();
    });
    this.heard();
  }

  private close(): void {
    this.source?.close();
    this.source = null;
    clearTimeout(this.again);
    clearTimeout(this.quiet);
  }

  /** Tries again after a while. An event source does not tell why it was refused; that is asked for once. */
  private async later(): Promise<void> {
    this.close();
    this.again = setTimeout(() => this.connect(), AGAIN);
    if (this.reason === null) this.reason = await refusal('/v1/stream');
  }

  private broke(): void {
    if (this.state !== 'broken') this.since = Date.now() / 1000;
    this.state = 'broken';
  }

  /** Waits for the next sign of life: a connection whose other end is gone tells nothing by itself. */
  private heard(): void {
    clearTimeout(this.quiet);
    this.quiet = setTimeout(() => {
      this.broke();
      this.connect();
    }, QUIET);
  }

  private lives(): void {
    [this.state, this.reason] = ['live', null];
  }

  /** What another node told says nothing about this one. */
  private meet(node: string): void {
    if (this.node !== null && node !== this.node) {
      this.ring = new Ring();
      this.decision = new Recent();
      this.store = new Recent();
      this.evicted = [];
      this.second = null;
    }
    this.node = node;
  }

  private history(told: History): void {
    this.heard();
    this.meet(told.node);
    this.ring.history(told);
    this.lives();
    this.show();
    this.last = -Infinity;
  }

  private figures(told: Second): void {
    this.heard();
    this.meet(told.node);
    this.second = told;
    this.ring.add(told.at, told.seconds, told.rules);
    this.decision.add(told.at, told.decision_seconds);
    this.store.add(told.at, told.store_seconds);
    this.evicted.push({ at: told.at, keys: told.memory.evicted });
    this.evicted = this.evicted.filter(({ at }) => at <= told.at && at > told.at - RECENT).slice(-RECENT);
    this.lives();
    clearTimeout(this.due);
    const wait = this.last + PACE - performance.now();
    if (wait <= 0) this.show();
    else this.due = setTimeout(() => this.show(), wait);
  }

  private show(): void {
    if (this.paused) return;
    if (this.state === 'loading') return;
    this.last = performance.now();
    const times = (of: Recent): Times => {
      const [p50 = null, p99 = null] = of.quantiles([0.5, 0.99]);
      return { p50, p99 };
    };
    this.shown = {
      ring: this.ring,
      second: this.second,
      decision: times(this.decision),
      store: times(this.store),
      evicted: this.evicted.reduce((sum, { keys }) => sum + keys, 0),
    };
  }
}
