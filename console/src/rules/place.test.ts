// Faults end up where they are meant, at both ends of lines and of the text.
import { expect, test } from 'vitest';
import { byLine, isHere, lineStart, offset, told, unit, widest } from './place';

const fault = (line: number, column: number, file = 'body') => ({
  file,
  line,
  column,
  fault: '`min` is not a period',
  repair: 'write `minute`',
});

// Goal: a line and a column are a place in the text.
// Method: the first and last of each, and one beyond.
test('a place is found from its line and column', () => {
  const text = 'ab\n\ncd';
  expect(lineStart(text, 1)).toBe(0);
  expect(lineStart(text, 2)).toBe(3);
  expect(lineStart(text, 3)).toBe(4);
  expect(lineStart(text, 4)).toBe(6);
  expect(offset(text, 1, 1)).toBe(0);
  expect(offset(text, 1, 3)).toBe(2);
  expect(offset(text, 1, 4)).toBe(2);
  expect(offset(text, 2, 1)).toBe(3);
  expect(offset(text, 2, 9)).toBe(3);
  expect(offset(text, 3, 2)).toBe(5);
  expect(offset(text, 9, 9)).toBe(6);
});

// Goal: columns count characters, the text counts units.
// Method: a character of two units before the place.
test('a character of two units is one column', () => {
  expect(unit('"😀ä", x', 2)).toBe(1);
  expect(unit('"😀ä", x', 3)).toBe(3);
  expect(offset('a\n"😀ä", x', 2, 4)).toBe(6);
});

// Goal: only faults of the text itself mark its lines.
// Method: two on one line, one of another file.
test('faults are gathered by line, and those of other files are not', () => {
  const lines = byLine([fault(2, 7), fault(2, 12), fault(3, 1), fault(2, 1, 'keys.yaml')]);
  expect([...lines]).toEqual([
    [2, [7, 12]],
    [3, [1]],
  ]);
  expect(isHere(fault(1, 1, 'keys.yaml'))).toBe(false);
});

// Goal: a fault says where it is, and in which file if that is another.
// Method: words written down.
test('a fault is a line', () => {
  expect(told(fault(7, 12))).toBe('line 7, column 12: `min` is not a period; write `minute`');
  expect(told(fault(1, 2, 'keys.yaml'))).toMatch(/^keys\.yaml, line 1, column 2: /);
});

// Goal: there is room for the widest line, also where its signs are wide.
// Method: a shorter line of wide signs beside a longer one of narrow ones, both ways round, and none.
test('the widest line has room', () => {
  expect(widest(['abc', 'ab'])).toBe(3);
  expect(widest(['abcde', '漢字か'])).toBe(6);
  expect(widest(['漢字か', 'abcdefg'])).toBe(7);
  expect(widest(['a\tb'])).toBe(4);
  expect(widest([''])).toBe(0);
});
