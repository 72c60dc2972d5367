// The curves of the chart: means over a few seconds, so that a line stays a line however narrow the screen is.
//
// Invariant: groups begin at multiples of their length, so that a curve moves as time does but never changes its shape;
// time of which nothing is known has no value, and is not 0.
import { KINDS } from './kinds';
import type { Ring, Series } from './ring';
import { KEPT } from './ring';

export type Curves = [at: number[], ...values: (number | null)[][]];

/** Pixels that a point of a curve needs at least. */
const ROOM = 4.5;

/** Lengths of groups, in seconds. None is below 2: seconds that come a little late would leave holes. */
const STEPS = [2, 5, 10, 15, 30] as const;

/** How many seconds one point stands for, on a chart of this width. */
export function step(width: number): number {
  return STEPS.find((seconds) => (width * seconds) / KEPT >= ROOM) ?? 30;
}

/** What a rule did a second, as columns: the time, and each kind. */
export function curves(ring: Ring, of: Series | undefined, seconds: number): Curves {
  const at: number[] = [];
  const values: (number | null)[][] = KINDS.map(() => []);
  let group = Number.NaN;
  let start = 0;
  const close = (end: number) => {
    if (end === start) return;
    let length = 0;
    for (let i = start; i < end; i++) length += ring.seconds[i] ?? 0;
    at.push(((ring.at[start] ?? 0) + (ring.at[end - 1] ?? 0)) / 2);
    KINDS.forEach((kind, k) => {
      let sum = 0;
      if (of) for (let i = start; i < end; i++) sum += ring.value(of, kind, i);
      values[k]?.push(sum / Math.max(length, 1));
    });
    start = end;
  };
  ring.at.forEach((moment, i) => {
    const own = Math.floor(moment / seconds);
    if (own === group) return;
    close(i);
    if (own > group + 1) {
      at.push((group + 1.5) * seconds);
      for (const column of values) column.push(null);
    }
    group = own;
  });
  close(ring.at.length);
  return [at, ...values];
}

/** The point that is nearest to a moment; null if none is within a step of it. */
export function nearest(at: number[], moment: number, step: number): number | null {
  let found: number | null = null;
  let least = step;
  at.forEach((own, i) => {
    const distance = Math.abs(own - moment);
    if (distance > least) return;
    least = distance;
    found = i;
  });
  return found;
}

/** The top of the scale for values up to `most`: some air, and no less than 1, so that a trickle looks like one. */
export function ceiling(most: number | null): number {
  return Math.max(1, (most ?? 0) * 1.08);
}

/** Which of so many points a key leads to, from this one; null is now, and undefined a key that leads nowhere. */
export function aim(
  key: string,
  from: number | null,
  points: number,
  far: number,
): number | null | undefined {
  if (points === 0) return undefined;
  const at = from ?? points;
  const leads: Record<string, number> = {
    ArrowLeft: at - 1,
    ArrowDown: at - 1,
    ArrowRight: at + 1,
    ArrowUp: at + 1,
    PageDown: at - far,
    PageUp: at + far,
    Home: 0,
    End: points,
    Escape: points,
  };
  const to = leads[key];
  if (to === undefined) return undefined;
  return to >= points ? null : Math.max(0, to);
}
