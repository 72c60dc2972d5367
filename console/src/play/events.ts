// What happened to requests: kept for the strips, and counted for "most in any 10 s".
//
// Invariants: no more is kept than a strip shows, or than there is room for; the count is of units that were
// admitted, by when they pass.

export type Kind = 'allowed' | 'refused' | 'delayed';

export interface Happened {
  /** When it was decided, in seconds of the server's. */
  at: number;
  kind: Kind;
  cost: number;
}

/** Seconds that a strip shows. */
export const STRIP = 20;

/** Most requests of a strip. */
export const KEPT = 2000;

export class Events {
  readonly all: Happened[] = [];

  add(happened: Happened): void {
    this.all.push(happened);
    if (this.all.length > KEPT) this.all.shift();
  }

  /** Forgets what no strip shows any more. */
  prune(now: number): void {
    let old = 0;
    while (old < this.all.length && now - (this.all[old]?.at ?? 0) > STRIP) old += 1;
    if (old > 0) this.all.splice(0, old);
  }

  count(kind: Kind): number {
    return this.all.reduce((sum, one) => sum + (one.kind === kind ? 1 : 0), 0);
  }

  clear(): void {
    this.all.length = 0;
  }
}

/** The most units that passed in any window of a length, wherever it begins. */
export class Most {
  private passed: { at: number; cost: number }[] = [];
  private sum = 0;
  value = 0;

  /** Units passed then; times do not go back. */
  add(at: number, cost: number, period: number): void {
    this.passed.push({ at, cost });
    this.sum += cost;
    // Two that are a whole period apart are not in one window. Times are whole microseconds, within what a double holds.
    while (this.passed[0] && at - this.passed[0].at > period - 5e-7) {
      this.sum -= this.passed[0].cost;
      this.passed.shift();
    }
    this.value = Math.max(this.value, this.sum);
  }

  clear(): void {
    this.passed = [];
    this.sum = 0;
    this.value = 0;
  }
}
