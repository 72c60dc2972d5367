// Steps of a roll-out, and the words for them.
import { expect, test } from 'vitest';
import { isSame, named, outlook, present, record, stepped, steps, verdict } from './rollout';

// Goal: a rule that says nothing is enforced for all.
// Method: with the field, without it, and with nothing in it.
test('the present roll-out is what is written, or everybody', () => {
  expect(present({ id: 'api' })).toBe('100%');
  expect(present({ id: 'api', rollout: null })).toBe('100%');
  expect(present({ id: 'api', rollout: '25%' })).toBe('25%');
});

// Goal: the present one is among the steps, once, in its place.
// Method: between two steps, at one, below and above all.
test('another percentage is a step of its own', () => {
  expect(steps('25%')).toEqual(['off', 'shadow', '10%', '25%', '50%', '100%']);
  expect(steps('50%')).toEqual(['off', 'shadow', '10%', '50%', '100%']);
  expect(steps('0%')).toEqual(['off', 'shadow', '0%', '10%', '50%', '100%']);
  expect(steps('99.5%')).toEqual(['off', 'shadow', '10%', '50%', '99.5%', '100%']);
  expect(steps('10 %')).toEqual(['off', 'shadow', '10%', '50%', '100%']);
  expect(isSame('10 %', '10%')).toBe(true);
  expect(isSame('off', 'shadow')).toBe(false);
});

// Goal: only the roll-out of a rule changes, and what is so unless said is left out.
// Method: to a part, to all, and that the rule itself stays.
test('a step changes nothing else', () => {
  const rule = { id: 'api', rollout: 'shadow', limit: '5/second' };
  expect(stepped(rule, '10%')).toEqual({ id: 'api', rollout: '10%', limit: '5/second' });
  expect(stepped(rule, '100%')).toEqual({ id: 'api', limit: '5/second' });
  expect(stepped({ id: 'api' }, 'off')).toEqual({ id: 'api', rollout: 'off' });
  expect(rule.rollout).toBe('shadow');
});

// Goal: each step says what it does.
// Method: the words of each.
test('an outlook says what will happen', () => {
  expect(outlook('api', 'off')).toContain('count nothing');
  expect(outlook('api', 'shadow')).toContain('refuse nobody');
  expect(outlook('api', '10%')).toContain('10\u00a0% of the keys');
  expect(outlook('api', '100%')).toBe('api will be enforced for every key.');
  expect(named('10%')).toBe('10\u00a0%');
  expect(named('off')).toBe('off');
});

// Goal: callers that would be refused are told with their share, and nothing is told of nothing.
// Method: none asked, one refused, many refused.
test('a verdict counts callers', () => {
  const shadow = { asked: 900, refused: 270, callers: 71_000, callers_refused: 214 };
  expect(verdict(undefined)).toBe('no request met it in shadow yet');
  expect(verdict({ ...shadow, asked: 0 })).toBe('no request met it in shadow yet');
  expect(verdict(shadow)).toBe('would refuse 214 callers, 0.3\u00a0%');
  expect(verdict({ ...shadow, callers: 4, callers_refused: 1 })).toBe('would refuse 1 caller, 25\u00a0%');
  expect(verdict({ ...shadow, callers_refused: 0 })).toBe('would refuse 0 callers, 0\u00a0%');
  expect(record({ allowed: 0, refused: 0 })).toBe('no request met it yet');
  expect(record({ allowed: 75, refused: 25 })).toBe('refused 25 of 100 requests, 25\u00a0%');
});
