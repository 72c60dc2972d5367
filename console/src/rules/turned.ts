// Switches: which one stands above a rule, and how it is told.
//
// Invariant: a switch of the rule's own stands above the one for all.
import type { Switch } from '../lib/api';
import { moment } from '../lib/format';
import { now as present } from '../lib/time';
import { named } from './rollout';

/** The name by which all rules without a switch of their own are meant. */
export const ALL = '*';

/** The switch that stands above a rule at this moment, if one does. */
export function above(switches: Switch[], rule: string, now = present()): Switch | null {
  const turned = switches.filter((own) => !own.until || !(Date.parse(own.until) <= now));
  return turned.find((own) => own.rule === rule) ?? turned.find((own) => own.rule === ALL) ?? null;
}

/** Until when it stands. */
export function until(own: Switch, now = present()): string {
  return own.until ? `until ${moment(own.until, now)}` : 'until it is turned back';
}

/** A switch as it is told beside a rule's roll-out. */
export function told(own: Switch, now = present()): string {
  const whom = own.rule === ALL ? 'with all rules, ' : '';
  return `${whom}switched to ${named(own.rollout)} ${until(own, now)}`;
}

/** What turning it does, in one sentence. */
export function outlook(rule: string, rollout: string | null): string {
  const own = rule === ALL;
  const whom = own ? 'Every rule without a switch of its own' : rule;
  if (rollout === null) return `${whom} will again do what the release says.`;
  if (rollout === 'off') return `${whom} will count nothing and refuse nobody from now on.`;
  if (rollout === 'shadow') return `${whom} will refuse nobody from now on, and go on counting.`;
  return `${whom} will be enforced for ${named(rollout)} of the keys from now on.`;
}

/** A percentage that somebody wrote, as the server reads it; nothing if it is none. */
export function percentage(text: string): string | null {
  const found = /^\s*(\d{1,3})\s*%?\s*$/.exec(text);
  const value = found ? Number(found[1]) : 101;
  return value <= 100 ? `${value}%` : null;
}
