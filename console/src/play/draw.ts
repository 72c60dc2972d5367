// Where things are in the pictures: pure functions of a state and the time, in the units of a drawing of 320 by 132.
//
// Invariant: nothing is drawn outside of the drawing, whatever the numbers are.

export const WIDTH = 320;

/** Units that are drawn one by one; more than that are a bar. */
export const UNITS = 24;

/** Cells of one row between `from` and `to`: as many as there are units, the first `used` of them filled. */
export function cells(
  amount: number,
  used: number,
  from: number,
  to: number,
): { x: number; width: number; used: boolean }[] {
  const gap = amount > 12 ? 2 : 4;
  const width = (to - from - gap * (amount - 1)) / amount;
  return Array.from({ length: amount }, (_, index) => ({
    x: from + index * (width + gap),
    width,
    used: index < used,
  }));
}

/** A part of a whole within a span; less than nothing is nothing, more than all is all. */
export function along(part: number, whole: number, from: number, to: number): number {
  const share = whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0;
  return from + share * (to - from);
}

/** Tokens in rows within a vessel, from its floor: each at a place, filled from 0 to 1. */
export function tokens(
  burst: number,
  left: number,
  box: { x: number; y: number; width: number; height: number },
): { x: number; y: number; r: number; filled: number }[] {
  const columns = Math.max(1, Math.ceil(Math.sqrt((burst * box.width) / box.height)));
  const rows = Math.ceil(burst / columns);
  const size = Math.min(box.width / columns, box.height / rows);
  const from = box.x + (box.width - columns * size) / 2;
  return Array.from({ length: burst }, (_, index) => ({
    x: from + ((index % columns) + 0.5) * size,
    y: box.y + box.height - (Math.floor(index / columns) + 0.5) * size,
    r: size * 0.4,
    filled: Math.min(1, Math.max(0, left - index)),
  }));
}

/** Who waits in a queue: how long each still does, nearest to its turn first; of many the first `most`. */
export function turns(
  waiting: number,
  wholeAt: number,
  interval: number,
  now: number,
  most: number,
): number[] {
  return Array.from({ length: Math.min(waiting, most) }, (_, index) =>
    Math.max(0, wholeAt - (waiting - index) * interval - now),
  );
}
