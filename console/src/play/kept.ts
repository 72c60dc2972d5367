// What the browser keeps of the playground: who the visitor is, and the numbers of the cards.
//
// Invariant: what cannot be read counts as never written.
import type { Card } from './api';

const KEY = 'ratekeeper-playground';

export interface Kept {
  visitor: string;
  cards: Card[];
}

/** A name that nobody guesses. */
export function newVisitor(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** What a text says, as far as it makes sense. */
export function readable(text: string): Kept | null {
  const found = JSON.parse(text);
  if (typeof found?.visitor !== 'string' || !/^[\w-]{8,64}$/.test(found.visitor)) return null;
  if (!Array.isArray(found.cards)) return null;
  const good = (card: unknown): card is Card =>
    ['algorithm', 'mode', 'limit'].every(
      (name) => typeof (card as Record<string, unknown> | null)?.[name] === 'string',
    );
  return { visitor: found.visitor, cards: found.cards.filter(good) };
}

export function recall(): Kept | null {
  try {
    return readable(localStorage.getItem(KEY) ?? 'null');
  } catch {
    return null;
  }
}

export function keep(kept: Kept): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // Where nothing can be kept, the next page is another visitor's.
  }
}

/** Tells of changes that another tab makes. */
export function follow(changed: (kept: Kept) => void): () => void {
  const listen = (event: StorageEvent) => {
    const kept = event.key === KEY ? recall() : null;
    if (kept) changed(kept);
  };
  window.addEventListener('storage', listen);
  return () => window.removeEventListener('storage', listen);
}
