// The algorithms in words: names, and what each promises under its numbers.
import { span } from '../lib/format';
import type { Card, Told } from './api';

export function title(card: Card): string {
  switch (card.algorithm) {
    case 'fixed_window':
      return 'Fixed window';
    case 'sliding_window_log':
      return 'Sliding window log';
    case 'sliding_window_counter':
      return 'Sliding window counter';
    case 'token_bucket':
      return 'Token bucket';
    case 'leaky_bucket':
      return 'Leaky bucket';
  }
}

/** What the algorithm promises, in one sentence. */
export function promise(card: Card, told: Told | null): string {
  const amount = told?.amount ?? 10;
  const burst = told?.burst ?? amount;
  const period = span(told?.period ?? 10);
  const rate = told && told.period === 1 ? `${amount} a second` : `${amount} per ${period}`;
  switch (card.algorithm) {
    case 'fixed_window':
      return `${amount} in each ${period} of the clock, and up to ${2 * amount} around an edge.`;
    case 'sliding_window_log':
      return `Never more than ${amount} in any ${period}, since it remembers every request.`;
    case 'sliding_window_counter':
      return `Close to ${amount} in any ${period}, from two counts, the older one fading.`;
    case 'token_bucket':
      return `A burst of ${burst} at once, then ${rate} as tokens come back.`;
    case 'leaky_bucket':
      return card.mode === 'shaping'
        ? `Lets ${rate} pass at an even pace; up to ${burst} stand in line, the rest is refused.`
        : `Holds ${burst}, drains ${rate}; what would spill over is refused.`;
  }
}

/** What is left, in words. */
export function leftOf(told: Told | null, left: number | null): string {
  if (!told || left === null) return '–';
  return `${left} of ${told.limit ?? told.burst} left`;
}

/** A shell's line that sends the same request; where the server wants a token, the shell has it. */
export function curl(
  origin: string,
  visitor: string,
  card: Card,
  cost: number,
  access: string | undefined,
): string {
  const body = JSON.stringify({ visitor, cards: [card], cost });
  const token = access === 'token' ? ' -H "Authorization: Bearer $TOKEN"' : '';
  return `curl --json '${body}'${token} ${origin}/v1/playground/send`;
}
