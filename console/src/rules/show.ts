// Values of a rule file as a line of text, the way they could be written there.
//
// Invariant: a text is bounded in length, whatever the value.

/** Characters beyond which a value is cut. */
export const TEXT_MAX = 400;

/** A word that needs no quotes anywhere in YAML. */
const BARE = /^(?!(?:true|false|null|~|yes|no)$)[\p{L}_/.][\p{L}\p{N}_/.:*%+-]*(?: [\p{L}\p{N}_/.*%+-]+)*$/iu;
const RATE = /^\d+(?:\.\d+)?(?:[/%]\S*| concurrent)(?: [\p{L}\p{N}]+)*$/u;

/** A value as it could stand in a rule file. */
export function flow(value: unknown): string {
  const whole = written(value);
  return whole.length > TEXT_MAX ? `${whole.slice(0, TEXT_MAX)}…` : whole;
}

function written(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `[${value.map(written).join(', ')}]`;
  if (typeof value === 'object') {
    const fields = Object.entries(value).map(([name, own]) => `${quoted(name)}: ${written(own)}`);
    return `{${fields.join(', ')}}`;
  }
  return String(value);
}

function quoted(text: string): string {
  const plain = (BARE.test(text) || RATE.test(text)) && !/:(?:\s|$)/.test(text);
  return plain ? text : JSON.stringify(text);
}

/** How much a rule allows, in a few words. */
export function limits(rule: Record<string, unknown>): string {
  if (rule['deny'] === true) return 'closed';
  const limit = rule['limit'];
  const one = (own: unknown): string => (Array.isArray(own) ? own.map(String).join(' and ') : String(own));
  if (limit === null || limit === undefined) return 'no limit';
  if (typeof limit !== 'object' || Array.isArray(limit)) return one(limit);
  const tiers = Object.entries(limit).map(([tier, own]) => `${tier} ${one(own)}`);
  return tiers.join(', ');
}

/** By whom a rule counts, in a few words. */
export function by(key: unknown): string {
  if (key === undefined || key === null) return 'by ip';
  const part = (own: unknown): string => {
    const first = typeof own === 'object' && own !== null ? (own as { first?: unknown }).first : undefined;
    return Array.isArray(first) ? first.map(String).join(' or ') : typeof own === 'string' ? own : flow(own);
  };
  return `by ${Array.isArray(key) ? key.map(part).join(' and ') : part(key)}`;
}
