// A rule's last 15 minutes in a line of text: what was allowed, and on top of it what was refused.
//
// Invariant: what is drawn fits the box, and is the same for the same figures.
import { KEPT, type Ring, type Series } from './ring';

/** Seconds that one point stands for. */
export const POINT = 15;

export interface Point {
  allowed: number;
  refused: number;
}

/** What was decided a second, for each point of the last 15 minutes; oldest first, always as many. */
export function points(ring: Ring, of: Series | undefined): Point[] {
  const most = KEPT / POINT;
  const found = Array.from({ length: most }, () => ({ allowed: 0, refused: 0, seconds: 0 }));
  const first = Math.floor(ring.newest / POINT) - most + 1;
  ring.at.forEach((at, i) => {
    const point = found[Math.floor(at / POINT) - first];
    if (!point) return;
    point.seconds += ring.seconds[i] ?? 0;
    if (!of) return;
    point.allowed += ring.value(of, 'allowed', i);
    point.refused += ring.value(of, 'refused', i);
  });
  return found.map(({ allowed, refused, seconds }) => {
    const length = Math.max(seconds, 1);
    return { allowed: allowed / length, refused: refused / length };
  });
}

/** The areas below these points, in a box of this size: what was allowed, and what was refused above it. */
export function areas(all: Point[], width: number, height: number): { allowed: string; refused: string } {
  const most = Math.max(...all.map((point) => point.allowed + point.refused), 0);
  if (most === 0 || all.length < 2) return { allowed: '', refused: '' };
  const x = (i: number) => ((i * width) / (all.length - 1)).toFixed(1);
  const y = (value: number) => (height - (value * (height - 1)) / most).toFixed(1);
  const lower = all.map((point, i) => `${x(i)} ${y(point.allowed)}`);
  const upper = all.map((point, i) => `${x(i)} ${y(point.allowed + point.refused)}`);
  const isRefused = all.some((point) => point.refused > 0);
  return {
    allowed: `M0 ${height}L${lower.join('L')}L${width} ${height}Z`,
    refused: isRefused ? `M${upper.join('L')}L${lower.reverse().join('L')}Z` : '',
  };
}
