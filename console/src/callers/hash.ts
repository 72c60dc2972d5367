// What a page's address says: which caller, or which decision. `#keys?key=alice&key=/a` and `#decisions?id=01M8…`.
//
// Invariant: what is written here is read back as it was.

/** Parts of a key beyond which the server knows none. */
export const PARTS_MAX = 8;

function asked(hash: string): URLSearchParams {
  const at = hash.indexOf('?');
  return new URLSearchParams(at < 0 ? '' : hash.slice(at + 1));
}

/** The parts of the key that an address names; none if it names none. */
export function keyOf(hash: string): string[] {
  const parts = asked(hash).getAll('key').slice(0, PARTS_MAX);
  return parts.some((part) => part !== '') ? parts : [];
}

/** The address of a caller. */
export function toKey(key: string[]): string {
  const all = new URLSearchParams();
  for (const part of key) all.append('key', part);
  return key.length === 0 ? '#keys' : `#keys?${all}`;
}

/** The decision that an address names. */
export function idOf(hash: string): string | null {
  const id = asked(hash).get('id')?.trim() ?? '';
  return id === '' ? null : id;
}

/** The address of a decision. */
export function toId(id: string): string {
  return `#decisions?${new URLSearchParams({ id })}`;
}

/** The id in what somebody pasted: alone, or with the header field's name before it. */
export function pasted(text: string): string {
  return text
    .trim()
    .replace(/^x-ratekeeper-decision\s*:/i, '')
    .replace(/^["'\s]+|["'\s,;]+$/g, '');
}
