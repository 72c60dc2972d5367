// The playground's calls, and what they answer.
import { ask, LOOK, type Figures } from '../lib/api';

export type Algorithm =
  'fixed_window' | 'sliding_window_log' | 'sliding_window_counter' | 'token_bucket' | 'leaky_bucket';

export type Mode = 'policing' | 'shaping';

/** An algorithm and its numbers, the limit as rule files have it. */
export interface Card {
  algorithm: Algorithm;
  mode: Mode;
  limit: string;
}

/** What a bucket held; times are seconds since the epoch, by the server's clock. */
export type State =
  | { kind: 'window'; start: number; end: number; count: number }
  | { kind: 'windows'; start: number; end: number; current: number; previous: number }
  | { kind: 'log'; entries: { at: number; cost: number }[] }
  | { kind: 'bucket'; level: number; whole_at: number }
  | { kind: 'queue'; level: number; whole_at: number };

export interface Told extends Figures {
  /** When it was decided, and when the bucket held this. */
  at: number;
  now: number;
  source: string;
  amount: number;
  period: number;
  burst: number;
  status: number;
  fields: [string, string][];
  /** Null while the store is away. */
  state: State | null;
}

export interface Answers {
  now: number;
  answers: Told[];
}

const post = <T>(path: string, json: unknown, patience?: number) =>
  ask<T>(`/v1/playground/${path}`, { method: 'POST', json, ...(patience && { patience }) });

export const begin = () => ask<{ now: number; cards: Card[] }>('/v1/playground');
export const send = (visitor: string, cards: Card[], cost: number) =>
  post<Answers>('send', { visitor, cards, cost });
export const state = (visitor: string, cards: Card[]) => post<Answers>('state', { visitor, cards }, LOOK);
export const reset = (visitor: string, cards: Card[]) => post<Answers>('reset', { visitor, cards });
export const change = (visitor: string, from: Card, to: Card) =>
  post<{ now: number; kept: boolean; text: string; answer: Told }>('change', { visitor, from, to });
