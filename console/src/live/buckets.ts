// How long things took in the last minute, as buckets tell it.
//
// Invariant: a quantile is the upper end of its bucket, so what is said is never less than what was.
import { span } from '../lib/format';

/** The upper end in seconds, or null beyond all ends; and how many took so long. */
export type Bucket = [end: number | null, count: number];

/** Seconds that count. */
export const RECENT = 60;

/** The widest end that the server has. What is beyond took longer. */
const WIDEST = 10;

export class Recent {
  private readonly kept: { at: number; buckets: Bucket[] }[] = [];

  /** Takes what was counted in the second that ends at this moment. */
  add(at: number, buckets: Bucket[]): void {
    while (this.kept.length > 0 && (this.kept.at(-1)?.at ?? 0) >= at) this.kept.pop();
    this.kept.push({ at, buckets });
    while ((this.kept[0]?.at ?? at) <= at - RECENT || this.kept.length > RECENT) this.kept.shift();
  }

  /** What this part of all took at most: null if there was nothing, `Infinity` beyond all ends. */
  quantiles(parts: number[]): (number | null)[] {
    const counts = new Map<number, number>();
    for (const { buckets } of this.kept) {
      for (const [end, count] of buckets) {
        const own = end ?? Infinity;
        counts.set(own, (counts.get(own) ?? 0) + count);
      }
    }
    const all = [...counts].sort(([one], [other]) => one - other);
    return parts.map((part) => quantile(all, part));
  }
}

/** The end of the bucket in which the value is that this part of all do not exceed; ends ascend. */
export function quantile(all: [end: number, count: number][], part: number): number | null {
  const total = all.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return null;
  const rank = Math.max(1, Math.ceil(total * part));
  let below = 0;
  for (const [end, count] of all) {
    below += count;
    if (below >= rank) return end;
  }
  return null;
}

/** A quantile in words: `≤ 25 µs`. */
export function atMost(seconds: number | null): string {
  if (seconds === null) return '–';
  return Number.isFinite(seconds) ? `≤\u00a0${span(seconds)}` : `>\u00a0${span(WIDEST)}`;
}
