// Roll-outs: the steps from off to everybody, and what each means in words.
//
// Invariant: the present roll-out of a rule is always one of its steps.
import type { Shadow } from '../lib/api';
import { count, share } from '../lib/format';

/** A rule as a rule file has it. */
export type Rule = Record<string, unknown>;

/** The steps that every rule has. */
export const STEPS = ['off', 'shadow', '10%', '50%', '100%'] as const;

/** The roll-out of a rule that says nothing of it. */
export const WHOLE = '100%';

/** The roll-out of a rule, as it is written. */
export function present(rule: Rule): string {
  const written = rule['rollout'];
  return written === undefined || written === null ? WHOLE : String(written).trim();
}

/** Percent of the keys; nothing for `off` and `shadow`. */
export function percent(step: string): number | null {
  const found = /^(\d+(?:\.\d+)?)\s*%$/.exec(step);
  return found ? Number(found[1]) : null;
}

/** The steps of a rule, with its present one in its place among them. */
export function steps(now: string): string[] {
  const order = (step: string) => (step === 'off' ? -2 : step === 'shadow' ? -1 : (percent(step) ?? 101));
  if (STEPS.some((step) => order(step) === order(now))) return [...STEPS];
  return [...STEPS, now].sort((a, b) => order(a) - order(b));
}

/** Whether two are the same, however they are written. */
export function isSame(one: string, other: string): boolean {
  const own = percent(one);
  return own === null ? one === other : own === percent(other);
}

/** A step as people read it: `10 %`. */
export function named(step: string): string {
  const own = percent(step);
  return own === null ? step : `${own}\u00a0%`;
}

/** The rule at another step; what is so unless said is not said. */
export function stepped(rule: Rule, step: string): Rule {
  const { rollout: _, ...rest } = rule;
  return percent(step) === 100 ? rest : { ...rest, rollout: step };
}

/** What will happen to a rule, in one sentence. */
export function outlook(id: string, step: string): string {
  if (step === 'off') return `${id} will count nothing and refuse nobody.`;
  if (step === 'shadow') return `${id} will count and say what it would do; it will refuse nobody.`;
  const own = percent(step);
  if (own === 100) return `${id} will be enforced for every key.`;
  return `${id} will be enforced for ${own}\u00a0% of the keys, always the same ones, and in shadow for the others.`;
}

/** What a rule in shadow would have done so far. */
export function verdict(shadow: Shadow | undefined): string {
  if (!shadow || shadow.asked === 0) return 'no request met it in shadow yet';
  const callers = shadow.callers_refused === 1 ? 'caller' : 'callers';
  const part = share(shadow.callers_refused, shadow.callers);
  return `would refuse ${count(shadow.callers_refused)} ${callers}, ${part}`;
}

/** What an enforced rule has done so far. */
export function record(counted: { allowed: number; refused: number } | undefined): string {
  const all = (counted?.allowed ?? 0) + (counted?.refused ?? 0);
  if (!counted || all === 0) return 'no request met it yet';
  return `refused ${count(counted.refused)} of ${count(all)} requests, ${share(counted.refused, all)}`;
}
