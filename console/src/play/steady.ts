// Steady traffic: requests that are sent by themselves, at the pace that a slider says.
//
// Invariants: no more is under way than one call; what a slow server could not take is not made up for later; a call
// that failed is followed by a pause.
import type { CardModel } from './model.svelte';
import type { Play } from './play.svelte';

/** The paces of a slider, in requests a second. */
export const PACES = [0, 0.5, 1, 2, 5, 10, 20, 40];

/** How often it is looked what is due, in milliseconds. */
export const LOOK = 20;

/** Milliseconds without another call after one that failed. */
export const REST = 1000;

/** Requests of one card that may be due at a time. */
const DUE_MAX = 3;

export function steady(play: Play): () => void {
  const due = new Map<CardModel, number>();
  let last = performance.now();
  let busy = false;
  let rests = -Infinity;
  const timer = setInterval(() => {
    const now = performance.now();
    const seconds = (now - last) / 1000;
    last = now;
    const isStill = play.quiet || now < rests;
    for (const own of play.cards) {
      const more = (due.get(own) ?? 0) + own.rate * seconds;
      due.set(own, own.rate === 0 || isStill ? 0 : Math.min(DUE_MAX, more));
    }
    if (busy) return;
    const ready = play.cards.filter((own) => !own.busy && (due.get(own) ?? 0) >= 1);
    if (ready.length === 0) return;
    ready.forEach((own) => due.set(own, (due.get(own) ?? 1) - 1));
    busy = true;
    play
      .send(ready)
      .catch((error: unknown) => {
        play.failed(error);
        rests = performance.now() + REST;
      })
      .finally(() => (busy = false));
  }, LOOK);
  return () => clearInterval(timer);
}
