// Keys as overrides write them, brought to the parts that people read and search for.
//
// Invariant: a part has its value, whether or not it says what it is; one that does not is a `key`.
import type { KeyPart } from '../lib/api';

/** The value of each part: `acme` of `{user: acme}`. */
export function keyParts(key: KeyPart | KeyPart[]): string[] {
  const value = (part: KeyPart) => (typeof part === 'object' ? Object.values(part).join(' ') : String(part));
  return Array.isArray(key) ? key.map(value) : [value(key)];
}

/** What each part is: `user` of `{user: acme}`. */
export function keyKinds(key: KeyPart | KeyPart[]): string[] {
  const kind = (part: KeyPart) => (typeof part === 'object' ? Object.keys(part).join(' ') : 'key');
  return Array.isArray(key) ? key.map(kind) : [kind(key)];
}
