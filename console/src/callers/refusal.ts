// Why a request was refused, as a sentence.
//
// Invariant: the sentence says nothing that the decision does not.
import type { Why } from '../lib/api';
import { count, fine, plain } from '../lib/format';

/** Who refused, why, and when a try works. */
export function sentence(why: Why): string {
  const { decision } = why;
  const by = `refused${decision.rule === null ? '' : ` by ${decision.rule}`}`;
  return `${by}: ${cause(why)}; ${next(why)}`;
}

function cause({ decision: { limit, remaining, never, source } }: Why): string {
  if (source === 'failed_closed') return 'the store was away, and the rule refuses then';
  if (never && limit === 0) return 'the rule closes this route';
  if (limit === null) return 'it has no figures';
  if (never) return `it costs more than the ${count(limit)} that there ever are`;
  if (remaining !== null && remaining > 0)
    return `${count(remaining)} of ${count(limit)} were left, fewer than it costs`;
  return limit === 1 ? 'the one that there is was used' : `all ${count(limit)} were used`;
}

function next({ decision: { retry_after, never, source, limit } }: Why): string {
  if (never) return 'no other try will work';
  if (retry_after !== null) return `the next try that works is ${fine(retry_after)} after it`;
  if (source === 'failed_closed') return 'tries work once the store is back';
  return limit === null ? 'when a try works is not known' : 'a try works once a permit is given back';
}

/** How far off the next try that works is, as seen at `now`, both in seconds; nothing if there is none. */
export function chance(why: Why, now: number): string | null {
  const { retry_after, never } = why.decision;
  if (never || retry_after === null) return null;
  const rest = why.at + retry_after - now;
  return rest > 0 ? `in ${fine(rest)}` : 'by now';
}

const DOORS: Record<string, string> = {
  check: 'a call to the API',
  authorize: 'a gateway that asks /v1/authorize',
  gateway: 'this server’s gateway',
  envoy: 'Envoy’s rate limit service',
  resp: 'Redis’ protocol',
};

/** Which door it came by, in words. */
export function door(name: string): string {
  return DOORS[name] ?? name;
}

/** What was asked for, in a line: `GET /api/orders`. */
export function asked(why: Why): string {
  return plain([why.asked.method, why.asked.path].filter(Boolean).join(' '));
}
