// Sentences of refusals.
import { expect, test } from 'vitest';
import type { Decision, Why } from '../lib/api';
import { asked, chance, door, sentence } from './refusal';

const why = (own: Partial<Decision>, who: Partial<Why> = {}): Why => ({
  id: '01M8ZQ',
  at: 1000,
  door: 'check',
  node: 'web-1',
  asked: { key: ['alice'] },
  decision: {
    allowed: false,
    rule: 'api',
    limit: 100,
    remaining: 0,
    retry_after: 12.4,
    reset_after: 60,
    delay: null,
    never: false,
    source: 'store',
    id: '01M8ZQ',
    version: 7,
    results: [],
    ...own,
  },
  ...who,
});

// Goal: each way to be refused has its sentence.
// Method: one decision of each, as the server gives them.
test('a refusal is a sentence', () => {
  expect(sentence(why({}))).toBe(
    'refused by api: all 100 were used; the next try that works is 12.4\u00a0s after it',
  );
  expect(sentence(why({ limit: 1 }))).toContain('the one that there is was used');
  expect(sentence(why({ remaining: 5 }))).toContain('5 of 100 were left, fewer than it costs');
  expect(sentence(why({ never: true, retry_after: null, remaining: 5 }))).toBe(
    'refused by api: it costs more than the 100 that there ever are; no other try will work',
  );
  expect(sentence(why({ never: true, retry_after: null, limit: 0 }))).toContain('closes this route');
  expect(sentence(why({ retry_after: null, limit: 2 }))).toBe(
    'refused by api: all 2 were used; a try works once a permit is given back',
  );
  expect(sentence(why({ source: 'failed_closed', limit: null, remaining: null, retry_after: null }))).toBe(
    'refused by api: the store was away, and the rule refuses then; tries work once the store is back',
  );
  expect(sentence(why({ rule: null, limit: null, retry_after: null }))).toBe(
    'refused: it has no figures; when a try works is not known',
  );
});

// Goal: when a try works is told from now on.
// Method: before, at and after that moment, and where there is none.
test('the next chance is told from now', () => {
  expect(chance(why({ retry_after: 12 }), 1010)).toBe('in 2\u00a0s');
  expect(chance(why({ retry_after: 12 }), 1012)).toBe('by now');
  expect(chance(why({ never: true, retry_after: 12 }), 1000)).toBe(null);
  expect(chance(why({ retry_after: null }), 1000)).toBe(null);
});

// Goal: what was asked for is a line, and doors have words.
// Method: all of it, a part, none; a door that is known and one that is not.
test('what was asked for is told', () => {
  expect(asked(why({}, { asked: { key: [], method: 'GET', path: '/a' } }))).toBe('GET /a');
  expect(asked(why({}))).toBe('');
  expect(door('gateway')).toBe('this server’s gateway');
  expect(door('other')).toBe('other');
});
