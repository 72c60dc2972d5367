// Overrides as they are sent.
import { expect, test } from 'vitest';
import { limitOf, namedParts } from './override';

// Goal: a part is sent with what it is, so that a user who is called like an address is not that address.
// Method: parts of several kinds, one that was given as it is, and a server that does not say.
test('a key is sent with what its parts are', () => {
  const named = (key: string[], kinds: string[] | null) => namedParts({ rule: 'api', key, kinds });
  expect(named(['192.0.2.7'], ['ip'])).toEqual([{ ip: '192.0.2.7' }]);
  expect(named(['a', 'b'], ['header:x-b', 'key'])).toEqual([{ 'header:x-b': 'a' }, 'b']);
  expect(named(['a'], null)).toEqual(['a']);
});

// Goal: several limits are a list, and one is a text.
// Method: one, two by each sign, and a sign with nothing behind it.
test('several limits are a list', () => {
  expect(limitOf(' 5/second burst 20 ')).toBe('5/second burst 20');
  expect(limitOf('5/second and 100/minute')).toEqual(['5/second', '100/minute']);
  expect(limitOf('5/second, 100/minute,')).toEqual(['5/second', '100/minute']);
});
