// Keys of overrides, in every form that they are written in.
import { expect, test } from 'vitest';
import { keyParts } from './parts';

// Goal: whatever form a key has, its parts are found.
// Method: a text, a map, a list of both.
test('a key is its parts', () => {
  expect(keyParts('acme')).toEqual(['acme']);
  expect(keyParts({ user: 'acme' })).toEqual(['acme']);
  expect(keyParts(['acme'])).toEqual(['acme']);
  expect(keyParts([{ user: 'acme' }, '/api/**'])).toEqual(['acme', '/api/**']);
});
