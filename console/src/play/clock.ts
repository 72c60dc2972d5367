// The server's clock, as far as a page can know it: answers tell the time, and how long they took bounds the error.
//
// Invariant: of the last answers the quickest is believed, so that one slow answer does not move the clock; a clock that
// was set anew is followed at once.

/** Answers that are remembered. */
const KEPT = 8;

/** Seconds of disagreement, beyond what slow answers explain, that mean another clock; less is that of another node. */
const STEP = 5;

export class ServerClock {
  private seen: { offset: number; took: number }[] = [];
  private offset = 0;

  /** An answer said `server` seconds; it was asked for and came at these milliseconds of `performance.now()`. Says
      whether the clock was set anew. */
  note(server: number, asked: number, came: number): boolean {
    const took = came - asked;
    const offset = server - (asked + took / 2) / 1000;
    const isAnew = this.isKnown && Math.abs(offset - this.offset) > STEP + took / 1000;
    if (isAnew) this.seen = [];
    this.seen.push({ offset, took });
    if (this.seen.length > KEPT) this.seen.shift();
    const best = this.seen.reduce((one, other) => (other.took < one.took ? other : one));
    this.offset = best.offset;
    return isAnew;
  }

  /** How long one of the last answers took in the middle, in seconds. */
  get usual(): number {
    const sorted = this.seen.map((one) => one.took).sort((one, other) => one - other);
    return (sorted[Math.floor(sorted.length / 2)] ?? 0) / 1000;
  }

  get isKnown(): boolean {
    return this.seen.length > 0;
  }

  /** The server's time, in seconds since the epoch. */
  now(local = performance.now()): number {
    return local / 1000 + this.offset;
  }
}
