// Figures and texts as people read them.
import { expect, test } from 'vitest';
import { bytes, keyText, kindText, masked, plain } from './format';

// Goal: bytes have the unit that fits, and a digit after the point where there is room for it.
// Method: both sides of a unit's end, and beyond the last unit.
test('bytes have a unit', () => {
  expect([0, 1023, 1024, 1536, 10 * 1024, 1024 ** 2, 5000 * 1024 ** 4].map(bytes)).toEqual(
    ['0 B', '1023 B', '1.0 KiB', '1.5 KiB', '10 KiB', '1.0 MiB', '5000 TiB'].map((text) =>
      text.replace(' ', '\u00a0'),
    ),
  );
});

// Goal: of a key enough is told to know it again, and never all of it.
// Method: every length at which what is kept changes, and characters of two units.
test('a masked key keeps its ends', () => {
  expect(['', 'a', 'ab', 'abc', 'alice', 'alice2', '👻👻👻'].map(masked)).toEqual([
    '',
    '•',
    '••',
    'a•••c',
    'a•••e',
    'al•••2',
    '👻•••👻',
  ]);
});

// Goal: no text looks like another: what is not seen is written out, and all else stays.
// Method: controls, zero width, both directions, a tag beyond 16 bits, half a character, and letters of many scripts.
test('what nobody sees is written out', () => {
  expect(plain('a\nb\u0000')).toBe('a\\u000ab\\u0000');
  expect(plain('ad\u200bmin\ufeff')).toBe('ad\\u200bmin\\ufeff');
  expect(plain('\u202enimda\u2066')).toBe('\\u202enimda\\u2066');
  expect(plain('\u{e0041}\ud800\u3164')).toBe('\\u{e0041}\\ud800\\u3164');
  expect(plain('Zoë · 北京 · علي · 👻 \\ 1')).toBe('Zoë · 北京 · علي · 👻 \\ 1');
});

// Goal: a key is read as its parts, and told what they are only where that says something.
// Method: several, one that is empty, one that hides something; kinds that were given and not.
test('a key is read as its parts', () => {
  expect(keyText(['acme', '/x'])).toBe('acme · /x');
  expect(keyText([''])).toBe('(empty)');
  expect(keyText(['a\u200b'])).toBe('a\\u200b');
  expect(kindText(['ip', 'header:x-b'])).toBe('ip · header:x-b');
  expect([kindText(['key']), kindText(null)]).toEqual(['', '']);
});
