// Which switch stands above a rule, and until when.
import { expect, test } from 'vitest';
import { above, outlook, percentage, told, until } from './turned';

const NOW = Date.parse('2026-11-18T12:00:00Z');
const all = { rule: '*', rollout: 'off' };
const own = { rule: 'api', rollout: 'shadow', until: '2026-11-18T12:00:01Z' };

// Goal: a rule's own switch stands above that for all, as long as it is not over.
// Method: a moment before its end, at its end, and another rule.
test('the own switch stands above that for all', () => {
  expect(above([all, own], 'api', NOW)).toBe(own);
  expect(above([all, own], 'api', NOW + 1000)).toBe(all);
  expect(above([own], 'api', NOW + 1000)).toBe(null);
  expect(above([all, own], 'login', NOW)).toBe(all);
  expect(above([], 'api', NOW)).toBe(null);
});

// Goal: words for a switch with an end, without one, and for all.
// Method: words written down, but for the time of day, which is the reader's.
test('a switch is told', () => {
  expect(told(own, NOW)).toMatch(/^switched to shadow until \d\d:\d\d$/);
  expect(told(all, NOW)).toBe('with all rules, switched to off until it is turned back');
  expect(until({ ...own, until: '2027-02-03T12:00:00Z' }, NOW)).toMatch(/2027.*\d\d:\d\d$/);
  expect(outlook('*', 'off')).toContain('Every rule without a switch of its own');
  expect(outlook('api', '25%')).toContain('25\u00a0% of the keys');
  expect(outlook('api', null)).toContain('what the release says');
});

// Goal: only percentages are.
// Method: both ends, and one beyond.
test('a percentage is from 0 to 100', () => {
  expect(percentage('25')).toBe('25%');
  expect(percentage(' 100 % ')).toBe('100%');
  expect(percentage('0')).toBe('0%');
  expect(percentage('101')).toBe(null);
  expect(percentage('-1')).toBe(null);
  expect(percentage('')).toBe(null);
});
