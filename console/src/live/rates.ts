// How fast keys ask, from what two polls counted; and rows that hold still under a pointer.
//
// Invariant: a pace is told only if both polls are of the same life of the server, and near enough to mean "now".
import type { Frequent, Top } from '../lib/api';

/** Seconds between two polls beyond which their difference says nothing about now. */
export const STALE = 10;

export interface Poll {
  /** The server's age. */
  seconds: number;
  counts: Map<string, { count: number; refused: number }>;
}

export interface Pace {
  count: number;
  refused: number;
}

/** What makes a row the same in two polls. */
export function id(row: Frequent): string {
  return `${row.hash} ${row.rule}`;
}

export function poll(top: Top): Poll {
  const counts = new Map([...top.keys, ...top.refused].map((row) => [id(row), row]));
  return { seconds: top.seconds, counts };
}

/** For each key of both polls, how much a second came between them. */
export function paces(before: Poll | null, now: Poll): Map<string, Pace> {
  const found = new Map<string, Pace>();
  const seconds = before ? now.seconds - before.seconds : 0;
  if (!before || seconds <= 0 || seconds > STALE) return found;
  for (const [key, { count, refused }] of now.counts) {
    const last = before.counts.get(key);
    // A count that fell was lost and begun anew.
    if (!last || count < last.count || refused < last.refused) continue;
    found.set(key, { count: (count - last.count) / seconds, refused: (refused - last.refused) / seconds });
  }
  return found;
}

/** The rows in the order that they had, the new ones last. */
export function steady(rows: Frequent[], order: string[]): Frequent[] {
  const place = new Map(order.map((key, i) => [key, i]));
  const at = (row: Frequent) => place.get(id(row)) ?? order.length;
  return [...rows].sort((one, other) => at(one) - at(other));
}
