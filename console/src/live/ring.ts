// The last 15 minutes, second by second: what every rule decided, as the stream tells it.
//
// Invariants: `at` ascends and spans less than `KEPT` seconds in at most `KEPT` entries; a slot that belongs to no entry
// is 0; sums are those of the columns; a rule that did nothing in all that time is forgotten. A second costs a step for
// each rule, and no memory, since there may be a thousand of them.
import { KINDS, type Counts, type Kind } from './kinds';

/** Seconds that are kept. */
export const KEPT = 900;

/** A clock that goes back by less than this only repeats itself; by more, it was set, and all before is void. */
const SET_BACK = 5;

export type Row = { rule: string } & Counts;

/** What `event: history` tells. */
export interface History {
  node: string;
  at: number[];
  rules: Record<string, Record<Kind, number[]>>;
}

export interface Series {
  /** By slot, not by entry: `Ring.value` knows where an entry is. */
  columns: Record<Kind, Uint32Array>;
  sums: Counts;
}

function series(): Series {
  const zeros = () => new Uint32Array(KEPT);
  const columns = { allowed: zeros(), refused: zeros(), delayed: zeros(), shadow_refused: zeros() };
  return { columns, sums: { allowed: 0, refused: 0, delayed: 0, shadow_refused: 0 } };
}

function twin({ columns, sums }: Series): Series {
  const { allowed, refused, delayed, shadow_refused } = columns;
  const own = {
    allowed: allowed.slice(),
    refused: refused.slice(),
    delayed: delayed.slice(),
    shadow_refused: shadow_refused.slice(),
  };
  return { columns: own, sums: { ...sums } };
}

export class Ring {
  at: number[] = [];
  /** How long each entry was. */
  seconds: number[] = [];
  all = series();
  readonly rules = new Map<string, Series>();
  /** The rules by name; another array only when they are others. */
  names: string[] = [];
  /** The slot of the first entry. */
  private base = 0;

  /** The newest moment; 0 before there is any. */
  get newest(): number {
    return this.at.at(-1) ?? 0;
  }

  /** What a rule did in an entry. */
  value(of: Series, kind: Kind, entry: number): number {
    return of.columns[kind][(this.base + entry) % KEPT] ?? 0;
  }

  /** Takes what the server remembers; what this page knows from before that stays. */
  history(told: History): void {
    const first = told.at[0];
    if (first === undefined) return;
    const kept = this.at.findIndex((at) => at >= first);
    if (kept >= 0) this.cut(kept, this.at.length);
    for (const at of told.at) this.open(at, 1);
    const start = this.at.length - told.at.length;
    for (const [rule, columns] of Object.entries(told.rules)) {
      for (const kind of KINDS) {
        columns[kind].forEach((count, i) => {
          if (count > 0 && start + i >= 0) this.count(rule, kind, start + i, count);
        });
      }
    }
    this.name();
  }

  /** Takes what was decided in the seconds that end at this moment. */
  add(at: number, seconds: number, rows: Row[]): void {
    if (this.at.length > 0 && at <= this.newest) {
      if (this.newest - at < SET_BACK) return;
      this.cut(0, this.at.length);
    }
    this.open(at, Math.max(seconds, 0.001));
    for (const row of rows) {
      for (const kind of KINDS) {
        if (row[kind] > 0) this.count(row.rule, kind, this.at.length - 1, row[kind]);
      }
    }
    this.name();
  }

  /** How much a second there was of each kind, over the last few seconds. */
  rates(of: Series | undefined, span = 5): Counts {
    const found: Counts = { allowed: 0, refused: 0, delayed: 0, shadow_refused: 0 };
    let seconds = 0;
    for (let i = this.at.length - 1; i >= 0 && (this.at[i] ?? 0) > this.newest - span; i--) {
      seconds += this.seconds[i] ?? 0;
      if (of) for (const kind of KINDS) found[kind] += this.value(of, kind, i);
    }
    for (const kind of KINDS) found[kind] /= Math.max(seconds, 1);
    return found;
  }

  /** The same once more, which does not change when this one does. */
  copy(): Ring {
    const other = new Ring();
    other.at = this.at.slice();
    other.seconds = this.seconds.slice();
    other.all = twin(this.all);
    for (const [rule, own] of this.rules) other.rules.set(rule, twin(own));
    other.names = this.names;
    other.base = this.base;
    return other;
  }

  private count(rule: string, kind: Kind, entry: number, count: number): void {
    let own = this.rules.get(rule);
    if (!own) {
      own = series();
      this.rules.set(rule, own);
    }
    const slot = (this.base + entry) % KEPT;
    for (const into of [own, this.all]) {
      into.columns[kind][slot] = (into.columns[kind][slot] ?? 0) + count;
      into.sums[kind] += count;
    }
  }

  /** Begins an entry, and forgets those that are too old for it. */
  private open(at: number, seconds: number): void {
    let end = Math.max(0, this.at.length + 1 - KEPT);
    while ((this.at[end] ?? Infinity) <= at - KEPT) end += 1;
    if (end > 0) {
      this.cut(0, end);
      this.base = (this.base + end) % KEPT;
    }
    this.at.push(at);
    this.seconds.push(seconds);
  }

  /** Empties the entries from `start` up to `end`, which are the first or the last. */
  private cut(start: number, end: number): void {
    for (const own of [this.all, ...this.rules.values()]) {
      for (const kind of KINDS) {
        for (let i = start; i < end; i++) {
          own.sums[kind] -= this.value(own, kind, i);
          own.columns[kind][(this.base + i) % KEPT] = 0;
        }
      }
    }
    this.at.splice(start, end - start);
    this.seconds.splice(start, end - start);
  }

  /** Forgets the rules that have nothing left, and names the others if they are others than before. */
  private name(): void {
    for (const [rule, own] of this.rules) {
      if (KINDS.every((kind) => own.sums[kind] === 0)) this.rules.delete(rule);
    }
    const isSame = this.names.length === this.rules.size && this.names.every((name) => this.rules.has(name));
    if (!isSame) this.names = [...this.rules.keys()].sort();
  }
}
