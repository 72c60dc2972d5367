// A step of a roll-out, from the release that was shown when somebody chose it.
//
// Invariant: what others have changed since then is not undone: the step is refused, and says so.
import { Problem, putRule, type Done } from '../lib/api';
import { stepped, type Rule } from './rollout';

export interface Step {
  rule: Rule;
  id: string;
  to: string;
  /** The release that the rule is of. */
  version: number;
}

export async function make({ id, rule, to, version }: Step): Promise<Done> {
  try {
    return await putRule(id, stepped(rule, to), version);
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 412) throw error;
    throw new Problem(
      412,
      'Another release was made meanwhile. Nothing has changed; close this and look again.',
    );
  }
}
