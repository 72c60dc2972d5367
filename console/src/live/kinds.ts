// What can become of a question to a rule, and how each outcome looks: a word, a colour and a dash. No two outcomes
// share a dash, so they differ without colour too.

export const KINDS = ['allowed', 'refused', 'delayed', 'shadow_refused'] as const;

export type Kind = (typeof KINDS)[number];

export type Counts = Record<Kind, number>;

export interface Look {
  word: string;
  /** The same where there is little room. */
  short: string;
  /** The token of its colour. */
  token: 'allowed' | 'refused' | 'delayed' | 'shadow';
  /** Lengths of lines and gaps, in pixels; empty is a whole line. */
  dash: number[];
  /** What it says to somebody who sees it for the first time. */
  means: string;
}

export const LOOKS: Record<Kind, Look> = {
  allowed: { word: 'Allowed', short: 'Allowed', token: 'allowed', dash: [], means: 'Asked and let through' },
  refused: {
    word: 'Refused',
    short: 'Refused',
    token: 'refused',
    dash: [7, 3],
    means: 'Asked and turned away',
  },
  delayed: {
    word: 'Delayed',
    short: 'Delayed',
    token: 'delayed',
    dash: [2, 3],
    means: 'Let through, but told to wait first',
  },
  shadow_refused: {
    word: 'Shadow-refused',
    short: 'Shadow',
    token: 'shadow',
    dash: [10, 3, 2, 3],
    means: 'Would have been refused, had the rule not been in shadow',
  },
};
