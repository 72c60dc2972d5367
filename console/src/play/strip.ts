// The strip of a card: its last requests on a time axis that all cards share, drawn on a canvas since there may be
// thousands.
//
// Invariant: a request's place depends on its time alone, so that marks of different cards stand above each other;
// each kind has a shape of its own beside its colour.
import { STRIP, type Happened, type Kind } from './events';

export interface Palette {
  allowed: string;
  refused: string;
  delayed: string;
  faint: string;
}

/** Where a time is on a strip of this width, in pixels; the right end is now. */
export function place(at: number, now: number, width: number): number {
  return width * (1 - (now - at) / STRIP);
}

/** The edges of windows of a length that a strip shows. */
export function edges(now: number, period: number): number[] {
  const found: number[] = [];
  // Of very short windows only some edges are drawn.
  const step = period * Math.max(1, Math.ceil(2 / period));
  for (let at = Math.ceil((now - STRIP) / step) * step; at <= now; at += step) found.push(at);
  return found;
}

const RADIUS = 3.6;

/** Rows, so that requests of one moment do not hide each other. */
const ROWS = 5;

export function draw(
  context: CanvasRenderingContext2D,
  size: { width: number; height: number },
  events: Happened[],
  now: number,
  period: number,
  colours: Palette,
): void {
  const { width, height } = size;
  context.clearRect(0, 0, width, height);
  context.strokeStyle = colours.faint;
  context.lineWidth = 1;
  context.setLineDash([2, 3]);
  context.beginPath();
  for (const edge of edges(now, period)) {
    const x = Math.round(place(edge, now, width)) + 0.5;
    context.moveTo(x, 0);
    context.lineTo(x, height);
  }
  context.stroke();
  context.setLineDash([]);
  const rows = (kind: Kind) => {
    context.beginPath();
    let last = -Infinity;
    let row = 0;
    for (const one of events) {
      if (one.kind !== kind) continue;
      const x = place(one.at, now, width);
      if (x < -RADIUS) continue;
      row = x - last < 2 * RADIUS ? (row + 1) % ROWS : 0;
      if (row === 0) last = x;
      mark(context, kind, x, level(kind, row, height));
    }
  };
  context.lineWidth = 1.7;
  context.fillStyle = colours.allowed;
  rows('allowed');
  context.fill();
  context.strokeStyle = colours.delayed;
  rows('delayed');
  context.stroke();
  context.strokeStyle = colours.refused;
  rows('refused');
  context.stroke();
}

/** What passes is in the upper part, what is refused in the lower. */
function level(kind: Kind, row: number, height: number): number {
  const gap = (height / 2 - 2 * RADIUS - 2) / (ROWS - 1);
  return kind === 'refused' ? height - RADIUS - 1 - row * gap : RADIUS + 1 + row * gap;
}

function mark(context: CanvasRenderingContext2D, kind: Kind, x: number, y: number): void {
  if (kind === 'refused') {
    const r = RADIUS * 0.8;
    context.moveTo(x - r, y - r);
    context.lineTo(x + r, y + r);
    context.moveTo(x + r, y - r);
    context.lineTo(x - r, y + r);
    return;
  }
  context.moveTo(x + RADIUS, y);
  context.arc(x, y, RADIUS, 0, 2 * Math.PI);
  if (kind === 'delayed') {
    context.moveTo(x, y - RADIUS * 0.65);
    context.lineTo(x, y);
    context.lineTo(x + RADIUS * 0.6, y);
  }
}
