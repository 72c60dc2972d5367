// What somebody wrote about one key, as the server takes it.
//
// Invariant: the key that is sent is the one of the row: each part with what it is.
import type { KeyPart, Named } from '../api';

/** The parts of a key with what they are. One that was given as it is has no word in rule files, and stands alone. */
export function namedParts({ key, kinds }: Named): KeyPart[] {
  return key.map((value, at) => {
    const kind = kinds?.[at] ?? 'key';
    return kind === 'key' ? value : { [kind]: value };
  });
}

/** A limit, or a list of several: `10/second and 100/minute`. */
export function limitOf(text: string): string | string[] {
  const all = text.split(/\s+and\s+|,/).map((one) => one.trim());
  return all.length > 1 ? all.filter((one) => one !== '') : text.trim();
}
