// What time it is for the server, by the `Date` of its answers. What it says of times is compared with that, and not
// with the clock of whoever looks, which may be minutes off.
//
// Invariant: what is believed is what the last answer allows; as long as answers allow it, both clocks are right.

/** Milliseconds by which the server's clock is ahead. */
let ahead = 0;

/** An answer has this date; it was asked for and came at these milliseconds of the clock here. */
export function note(date: string | null, asked: number, came: number): void {
  const at = Date.parse(date ?? '');
  // It was made between asking and coming, and within the second that it names.
  if (!Number.isNaN(at)) ahead = Math.min(at + 1000 - asked, Math.max(at - came, ahead));
}

/** The server's time, in milliseconds since the epoch. */
export function now(): number {
  return Date.now() + ahead;
}
