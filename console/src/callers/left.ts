// What a caller has left under a rule, in words.
//
// Invariant: whoever has used something stands before whoever has not; the emptiest is first.
import type { Bucket } from '../lib/api';
import { count, fine } from '../lib/format';

/** Whether something of it is used, as far as it can be seen. */
export function isUsed(bucket: Bucket): boolean {
  if (!bucket.allowed) return true;
  return bucket.limit !== null && bucket.remaining !== null && bucket.remaining < bucket.limit;
}

/** The part that is left; of what has no limit, all. */
function part(bucket: Bucket): number {
  return bucket.limit ? (bucket.remaining ?? bucket.limit) / bucket.limit : 1;
}

/** Buckets that have used something, the emptiest first, and the others as they came. */
export function apart(buckets: Bucket[]): { used: Bucket[]; untouched: Bucket[] } {
  const used = buckets.filter(isUsed).sort((a, b) => part(a) - part(b));
  return { used, untouched: buckets.filter((bucket) => !isUsed(bucket)) };
}

/** `3 of 10 left`. */
export function left(bucket: Bucket): string {
  if (bucket.limit === null || bucket.remaining === null) return 'unlimited';
  return `${count(bucket.remaining)} of ${count(bucket.limit)} left`;
}

/** When the next one passes, if that is not now. */
export function retry(bucket: Bucket): string | null {
  if (bucket.never) return 'no try will pass';
  if (bucket.retry_after !== null && bucket.retry_after > 0) return `next in ${fine(bucket.retry_after)}`;
  if (bucket.delay !== null && bucket.delay > 0) return `the next waits ${fine(bucket.delay)}`;
  return null;
}

/** When everything is there again. */
export function whole(bucket: Bucket): string {
  if (!isUsed(bucket)) return 'whole';
  if (bucket.reset_after === null) return bucket.never ? '' : 'whole when permits are given back';
  return bucket.reset_after > 0 ? `whole again in ${fine(bucket.reset_after)}` : 'whole';
}

const SOURCES: Record<string, string> = {
  lease: 'decided here, from units taken ahead',
  denied_cache: 'refused a moment ago; the store was not asked again',
  overflow: 'the store is full: shared with other newcomers',
  local: 'the store is away: this node’s share',
  failed_open: 'the store is away: it admits',
  failed_closed: 'the store is away: it refuses',
};

/** Where the figures are from, if that is not the store. */
export function source(bucket: { source: string }): string | null {
  return bucket.source === 'store' ? null : (SOURCES[bucket.source] ?? bucket.source);
}
