// Values are shown as they could be written.
import { expect, test } from 'vitest';
import { by, flow, limits, TEXT_MAX } from './show';

// Goal: values read like a rule file.
// Method: one of each kind, with and without need of quotes.
test('a value is a line of YAML', () => {
  expect(flow({ first: ['user', 'ip'] })).toBe('{first: [user, ip]}');
  expect(flow('600/minute burst 100')).toBe('600/minute burst 100');
  expect(flow({ path: '/api/**', methods: ['POST'] })).toBe('{path: /api/**, methods: [POST]}');
  expect(flow('a: b')).toBe('"a: b"');
  expect(flow('true')).toBe('"true"');
  expect(flow(true)).toBe('true');
  expect(flow('*')).toBe('"*"');
  expect(flow('')).toBe('""');
  expect(flow(null)).toBe('nothing');
});

// Goal: no value is longer than there is room.
// Method: the longest that is whole, and one more.
test('a long value is cut', () => {
  expect(flow('a'.repeat(TEXT_MAX))).toBe('a'.repeat(TEXT_MAX));
  expect(flow('a'.repeat(TEXT_MAX + 1))).toBe(`${'a'.repeat(TEXT_MAX)}…`);
});

// Goal: a rule is known by what it allows and by whom it counts.
// Method: one limit, several, by tier, none; keys of one part, alternatives, several parts.
test('a rule is told in a few words', () => {
  expect(limits({ limit: '5/15m' })).toBe('5/15m');
  expect(limits({ limit: ['5/second', '1000/day'] })).toBe('5/second and 1000/day');
  expect(limits({ limit: { free: '60/minute', pro: ['20/second', '5/day'] } })).toBe(
    'free 60/minute, pro 20/second and 5/day',
  );
  expect(limits({ deny: true })).toBe('closed');
  expect(by(undefined)).toBe('by ip');
  expect(by({ first: ['user', 'ip'] })).toBe('by user or ip');
  expect(by([{ first: ['user', 'ip'] }, 'route'])).toBe('by user or ip and route');
});
