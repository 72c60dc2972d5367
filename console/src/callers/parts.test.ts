// Keys of overrides, in every form that they are written in.
import { expect, test } from 'vitest';
import { keyKinds, keyParts } from './parts';

// Goal: whatever form a key has, its parts are found.
// Method: a text, a map, a list of both.
test('a key is its parts', () => {
  expect(keyParts('acme')).toEqual(['acme']);
  expect(keyParts({ user: 'acme' })).toEqual(['acme']);
  expect(keyParts(['acme'])).toEqual(['acme']);
  expect(keyParts([{ user: 'acme' }, '/api/**'])).toEqual(['acme', '/api/**']);
});

// Goal: what a part is, is told where it is said.
// Method: the same forms.
test('a key has kinds', () => {
  expect(keyKinds('acme')).toEqual(['key']);
  expect(keyKinds({ user: 'acme' })).toEqual(['user']);
  expect(keyKinds([{ 'header:x-b': 'acme' }, '/api/**'])).toEqual(['header:x-b', 'key']);
});
