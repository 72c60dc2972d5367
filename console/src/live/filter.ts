// What is left of rules and keys when somebody types: what has every word, in whatever case.
import type { Frequent } from '../lib/api';
import { keyText, kindText } from '../lib/format';

/** All that a row can be found by. */
function textOf({ key, kinds, hash, rule }: Frequent): string {
  return `${keyText(key ?? [])} ${kindText(kinds)} ${hash} ${rule}`;
}

function has(filter: string, text: string): boolean {
  const low = text.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => low.includes(word));
}

export function rulesOf(names: string[], filter: string): string[] {
  return names.filter((name) => has(filter.trim(), name));
}

export function keysOf(rows: Frequent[], filter: string): Frequent[] {
  return rows.filter((row) => has(filter.trim(), textOf(row)));
}

/** At most so many names, those that did most, by name; and how many are left out. */
export function busiest(
  names: string[],
  did: (name: string) => number,
  most: number,
): { shown: string[]; left: number } {
  if (names.length <= most) return { shown: names, left: 0 };
  const order = [...names].sort((one, other) => did(other) - did(one));
  return { shown: order.slice(0, most).sort(), left: names.length - most };
}
