// One card: its numbers, what the server last said of it, and what happened to its requests.
//
// Invariant: what is shown of its bucket is what the server told, moved on by the time that has passed.
import type { Card, State, Told } from './api';
import { Events, Most } from './events';
import { evolve, left } from './evolve';

export class CardModel {
  card = $state.raw<Card>({ algorithm: 'fixed_window', mode: 'policing', limit: '10/10s' });
  /** What the bucket was last told to hold. */
  told = $state.raw<Told | null>(null);
  /** The last request that was decided. */
  last = $state.raw<Told | null>(null);
  /** The most units in any window of the card's length, since the last reset. */
  most = $state(0);
  cost = $state(1);
  /** Whether a request cost something else than 1, so that units and requests are not the same. */
  hasCosts = $state(false);
  /** Requests a second that are sent by themselves. */
  rate = $state(0);
  busy = $state(false);
  /** What became of the state when the numbers were last changed, or what was wrong. */
  note = $state.raw<{ text: string; wrong: boolean } | null>(null);
  readonly events = new Events();
  private readonly counted = new Most();

  constructor(card: Card) {
    this.card = card;
  }

  /** The window of "most in any …": that of the limit, or for a bucket the time that it takes to fill. */
  get length(): number {
    const told = this.told;
    if (!told) return 10;
    return this.card.algorithm.endsWith('bucket') ? (told.burst * told.period) / told.amount : told.period;
  }

  /** Above this many in one window is more than a reader of the limit expects. */
  get expected(): number {
    return this.told?.limit ?? this.told?.burst ?? 10;
  }

  state(now: number): State | null {
    return this.told && evolve(this.told, now);
  }

  left(now: number): number | null {
    const state = this.state(now);
    return this.told && state ? left(this.told, state, now) : null;
  }

  /** Takes an answer to a request. */
  decided(told: Told, cost: number): void {
    this.looked(told);
    this.last = told;
    if (cost !== 1) this.hasCosts = true;
    const delayed = told.allowed && (told.delay ?? 0) > 0;
    const kind = delayed ? 'delayed' : told.allowed ? 'allowed' : 'refused';
    this.events.add({ at: told.at, kind, cost });
    if (told.allowed) {
      this.counted.add(told.at + (told.delay ?? 0), cost, this.length);
      this.most = this.counted.value;
    }
  }

  /** Takes an answer that only looked; of two that crossed each other the later one counts. */
  looked(told: Told): void {
    if (!this.told || told.now >= this.told.now) this.told = told;
  }

  /** Begins anew with what the server says. */
  forget(told: Told | null): void {
    this.told = told;
    this.last = null;
    this.hasCosts = false;
    this.events.clear();
    this.recount();
  }

  /** Counts anew, since the window has another length. */
  recount(): void {
    this.counted.clear();
    this.most = 0;
  }
}
