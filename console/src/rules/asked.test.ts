// A described request is what the server takes.
import { expect, test } from 'vitest';
import { applying, request } from './asked';

const asked = { method: 'GET', path: '/api/x', ip: '192.0.2.7', user: '', lines: '' };

// Goal: only what was said is sent.
// Method: with everything, and with as little as can be.
test('what is left empty is left out', () => {
  expect(request(asked)).toEqual({ request: { method: 'GET', path: '/api/x', ip: '192.0.2.7' } });
  expect(request({ ...asked, ip: ' ', user: 'alice' })).toEqual({
    request: { method: 'GET', path: '/api/x', user: 'alice' },
  });
});

// Goal: header lines are fields, several lines of one field are kept together, and other lines are told.
// Method: a field twice in two cases, an empty value, an empty line; then a line without a colon.
test('header lines are read', () => {
  const lines = 'X-Api-Key: a:b\n\nx-api-key:  c \nX-Empty:';
  expect(request({ ...asked, lines })).toMatchObject({
    request: { headers: { 'X-Api-Key': ['a:b', 'c'], 'X-Empty': [''] } },
  });
  expect(request({ ...asked, lines: 'A: b\nno colon' })).toEqual({
    fault: 'Line 2 of the header fields is not “Name: value”.',
  });
});

// Goal: one and many are told rightly.
// Method: both sides of one.
test('how many apply is told', () => {
  expect(applying(0, 0)).toBe('There are no rules.');
  expect(applying(0, 1)).toBe('The rule does not apply.');
  expect(applying(0, 2)).toBe('None of 2 rules applies.');
  expect(applying(1, 2)).toBe('1 of 2 rules applies.');
  expect(applying(2, 2)).toBe('2 of 2 rules apply.');
});
