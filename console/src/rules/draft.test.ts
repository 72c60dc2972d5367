// What becomes of a text while releases come and go.
import { expect, test } from 'vitest';
import { Draft } from './draft.svelte';

const one = { text: 'rules: []', version: 1 };
const same = { text: 'rules: []', version: 2 };
const other = { text: 'rules: [{id: a}]', version: 3 };

// Goal: what nobody has changed is what is live.
// Method: three releases, one after the other.
test('a text that nobody changed follows the release', () => {
  const draft = new Draft();
  for (const live of [one, same, other]) {
    draft.follow(live);
    expect([draft.text, draft.base?.version, draft.isChanged]).toEqual([live.text, live.version, false]);
  }
});

// Goal: what somebody has written stays; a release with the same text as before is no other to them.
// Method: write, then a release with the former text, then one with another.
test('a text that was written stays', () => {
  const draft = new Draft();
  draft.follow(one);
  draft.text = 'rules: [mine]';
  draft.follow(same);
  expect([draft.text, draft.base?.version, draft.isChanged]).toEqual(['rules: [mine]', 2, true]);
  draft.follow(other);
  expect([draft.text, draft.base?.version, draft.isChanged]).toEqual(['rules: [mine]', 2, true]);
  draft.take(other);
  expect([draft.text, draft.isChanged]).toEqual([other.text, false]);
});

// Goal: what was written and then decides is no change any more, whoever applied it.
// Method: a release with just that text.
test('a text that is live is no change', () => {
  const draft = new Draft();
  draft.follow(one);
  draft.text = other.text;
  expect(draft.isChanged).toBe(true);
  draft.follow(other);
  expect([draft.base?.version, draft.isChanged]).toEqual([3, false]);
});
