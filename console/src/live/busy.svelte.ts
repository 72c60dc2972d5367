// The keys that ask most and are refused most: asked for every two seconds while somebody looks.
//
// Invariants: one question at a time; none while it is paused, out of sight, or left.
import { top, type Top } from '../lib/api';
import { words } from '../lib/format';
import { paces, poll, type Pace, type Poll } from './rates';

/** Milliseconds between two questions, and rows of each list. */
const EVERY = 2000;
const ROWS = 20;

export class Busy {
  shown = $state.raw<{ top: Top; paces: Map<string, Pace> } | null>(null);
  fault = $state<string | null>(null);

  private before: Poll | null = null;
  private asking = false;
  private left = false;

  /** Asks until what it answers is called. */
  open(paused: () => boolean): () => void {
    const look = () => {
      if (!paused() && !document.hidden) void this.look();
    };
    look();
    const timer = setInterval(look, EVERY);
    return () => {
      this.left = true;
      clearInterval(timer);
    };
  }

  private async look(): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    try {
      const found = await top(ROWS);
      const now = poll(found);
      if (!this.left) this.shown = { top: found, paces: paces(this.before, now) };
      this.before = now;
      this.fault = null;
    } catch (error) {
      this.fault = words(error);
    }
    this.asking = false;
  }
}
