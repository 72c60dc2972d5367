// What a bucket holds when time has passed and nobody has asked: the arithmetic of the algorithms, for drawing only.
//
// Invariant: at the moment that the server told a state, it is that state.
import type { State, Told } from './api';

/** The state of a bucket at another time of the server's. */
export function evolve(told: Told, at: number): State | null {
  const state = told.state;
  if (!state) return null;
  const { period, amount } = told;
  // A clock that is behind does not bring back what was before.
  const now = Math.max(at, told.now);
  switch (state.kind) {
    case 'window': {
      const over = Math.floor(Math.max(0, now - state.start) / period);
      const start = state.start + over * period;
      return { kind: 'window', start, end: start + period, count: over > 0 ? 0 : state.count };
    }
    case 'windows': {
      const over = Math.floor(Math.max(0, now - state.start) / period);
      const start = state.start + over * period;
      const [current, previous] =
        over === 0 ? [state.current, state.previous] : [0, over === 1 ? state.current : 0];
      return { kind: 'windows', start, end: start + period, current, previous };
    }
    case 'log':
      return { kind: 'log', entries: state.entries.filter((entry) => now - entry.at < period) };
    default: {
      const level = (Math.max(0, state.whole_at - now) * amount) / period;
      return { ...state, level };
    }
  }
}

/** Units that are left. Beyond a limit that was lowered there is nothing, and not less. */
export function left(told: Told, state: State, now: number): number {
  const of = (used: number) => Math.max(0, (told.limit ?? told.burst) - used);
  switch (state.kind) {
    case 'window':
      return of(state.count);
    case 'windows':
      return of(state.current + Math.ceil(faded(state, told.period, now) - 1e-9));
    case 'log':
      return of(state.entries.reduce((sum, entry) => sum + entry.cost, 0));
    default:
      return Math.max(0, Math.floor(told.burst - state.level + 1e-6));
  }
}

/** The part of the window before that a window sliding with the clock still covers, from 1 to 0. */
export function weight(start: number, period: number, now: number): number {
  return Math.min(1, Math.max(0, 1 - (now - start) / period));
}

/** What the window before still counts. */
export function faded(state: State & { kind: 'windows' }, period: number, now: number): number {
  return state.previous * weight(state.start, period, now);
}

/** Units that wait in a queue; the one that has its turn waits no more. */
export function waiting(level: number): number {
  return Math.max(0, Math.ceil(level - 1e-6) - 1);
}

/** Whether the picture would stand still: everything is there again. */
export function isIdle(state: State): boolean {
  switch (state.kind) {
    case 'window':
      return state.count === 0;
    case 'windows':
      return state.current === 0 && state.previous === 0;
    case 'log':
      return state.entries.length === 0;
    default:
      return state.level <= 0;
  }
}

/** The next edge of windows of this length, at least `lead` seconds away. */
export function nextEdge(now: number, period: number, lead: number): number {
  return (Math.floor((now + lead) / period) + 1) * period;
}
