// Keys as overrides write them, brought to the parts that people read and search for.
//
// Invariant: a part has its value, whether or not it says what it is.
import type { KeyPart } from '../lib/api';

/** The value of each part: `acme` of `{user: acme}`. */
export function keyParts(key: KeyPart | KeyPart[]): string[] {
  const value = (part: KeyPart) => (typeof part === 'object' ? Object.values(part).join(' ') : String(part));
  return Array.isArray(key) ? key.map(value) : [value(key)];
}
