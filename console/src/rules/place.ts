// Faults of a rule file, brought to the lines of the text that they are about.
//
// Invariant: what the server counts from 1 and in characters ends at the same place in the text, or at its nearest.
import type { Fault } from '../lib/api';

/** The name that the server gives to the text that it was sent. */
const SENT = 'body';

/** Whether a fault is in the text itself, and not in a file that the text names. */
export function isHere(fault: Fault): boolean {
  return fault.file === SENT;
}

/** Where a line begins, in units of the text; beyond the last line, where the text ends. */
export function lineStart(text: string, line: number): number {
  let at = 0;
  for (let now = 1; now < line; now += 1) {
    const next = text.indexOf('\n', at);
    if (next < 0) return text.length;
    at = next + 1;
  }
  return at;
}

/** Where a column of a line is, in units of the text: never beyond that line. */
export function offset(text: string, line: number, column: number): number {
  const start = lineStart(text, line);
  const end = text.indexOf('\n', start);
  const own = text.slice(start, end < 0 ? text.length : end);
  return start + unit(own, column);
}

/** Where a column that counts characters is in a line, in units. */
export function unit(line: string, column: number): number {
  let at = 0;
  for (const character of line) {
    if (column <= 1) break;
    at += character.length;
    column -= 1;
  }
  return at;
}

/** How wide the widest line is, in widths of a digit: what is not ASCII may take two, and a tab does. */
export function widest(lines: string[]): number {
  let most = 0;
  for (const line of lines) {
    // Only a line that could be wider than the widest so far is looked at closely.
    if (line.length * 2 <= most) continue;
    const others = line.length - line.replace(/[^ -~]/g, '').length;
    most = Math.max(most, line.length + others);
  }
  return most;
}

/** The faulty columns of each line that has any. */
export function byLine(faults: Fault[]): Map<number, number[]> {
  const lines = new Map<number, number[]>();
  for (const fault of faults.filter(isHere)) {
    lines.set(fault.line, [...(lines.get(fault.line) ?? []), fault.column]);
  }
  return lines;
}

/** Where it is and what is wrong, as a line. */
export function told(fault: Fault): string {
  const place = `line ${fault.line}, column ${fault.column}`;
  const file = isHere(fault) ? '' : `${fault.file}, `;
  return `${file}${place}: ${fault.fault}; ${fault.repair}`;
}
