// Figures as people read them. Every function here is of its arguments alone.

/** 1234567 as `1 234 567`, with narrow spaces that do not break. */
export function count(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/** A rate: `0`, `0.3`, `12`, `1 200`. */
export function rate(value: number): string {
  if (value === 0) return '0';
  return value < 10 ? value.toFixed(1).replace(/\.0$/, '') : count(value);
}

/** Seconds as `25 µs`, `1.5 ms`, `2.3 s`, `4 min`, `3 h`, `2 d`. */
export function span(seconds: number): string {
  const of = (value: number, unit: string) =>
    `${value < 10 ? value.toFixed(1).replace(/\.0$/, '') : Math.round(value)}\u00a0${unit}`;
  if (seconds <= 0) return '0\u00a0s';
  if (seconds < 0.000_999_5) return of(seconds * 1e6, 'µs');
  if (seconds < 0.999_5) return of(seconds * 1e3, 'ms');
  if (seconds % 3600 === 0 && seconds < 86_400) return of(seconds / 3600, 'h');
  if (seconds < 99.5) return of(seconds, 's');
  if (seconds < 99.5 * 60) return of(seconds / 60, 'min');
  if (seconds < 47.5 * 3600) return of(seconds / 3600, 'h');
  return of(seconds / 86_400, 'd');
}

/** Bytes as `12 KiB`. */
export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at += 1;
  }
  return `${value < 10 && at > 0 ? value.toFixed(1) : Math.round(value)}\u00a0${units[at]}`;
}

/** A part of a whole: `0.3 %`, `12 %`; nothing of nothing is `0 %`. */
export function share(part: number, whole: number): string {
  if (part <= 0 || whole <= 0) return '0\u00a0%';
  const percent = (100 * part) / whole;
  if (percent < 0.1) return '<\u00a00.1\u00a0%';
  return `${percent < 10 ? percent.toFixed(1).replace(/\.0$/, '') : Math.round(percent)}\u00a0%`;
}

const times = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' });

/** A moment, in seconds since the epoch, as the clock of whoever looks shows it. */
export function clock(seconds: number): string {
  return times.format(seconds * 1000);
}

/** A key whose middle is hidden: enough to know it again, too little to use it. */
export function masked(text: string): string {
  const all = [...text];
  if (all.length <= 2) return '•'.repeat(all.length);
  const kept = all.length < 6 ? 1 : 2;
  return `${all.slice(0, kept).join('')}•••${all.slice(-1).join('')}`;
}

/** Characters that nobody sees, or that turn the text around them: a key may be written to look like another. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;

/** A text that came from outside, such that all of it is seen: `\u202e` instead of what turns it around. */
export function plain(text: string): string {
  return text.replace(UNSEEN, (one) => {
    const code = (one.codePointAt(0) ?? 0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
  });
}

/** A key as people read it. */
export function keyText(key: string[]): string {
  return key.map((part) => (part === '' ? '(empty)' : plain(part))).join(' · ');
}

/** What the parts of a key are, where that says more than that they are one. */
export function kindText(kinds: string[] | null): string {
  return (kinds ?? []).every((kind) => kind === 'key') ? '' : plain((kinds ?? []).join(' · '));
}

/** What went wrong, in words. */
export function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A moment as people say it: the time, and the day if that is another than that of `now`. */
export function moment(at: string | number, now = Date.now()): string {
  const date = new Date(typeof at === 'number' ? at * 1000 : at);
  if (Number.isNaN(date.getTime())) return String(at);
  const time = date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const today = new Date(now);
  if (date.toDateString() === today.toDateString()) return time;
  const year = date.getFullYear() === today.getFullYear() ? undefined : 'numeric';
  return `${date.toLocaleDateString(undefined, { day: 'numeric', month: 'short', year })}, ${time}`;
}

/** A moment to the microsecond, as the clock of whoever looks shows it: `14:02:07.551029`. */
export function exact(seconds: number): string {
  const whole = Math.round(seconds * 1e6);
  const micros = ((whole % 1e6) + 1e6) % 1e6;
  return `${clock((whole - micros) / 1e6)}.${String(micros).padStart(6, '0')}`;
}

/** The same as `span`, with a tenth for seconds below 100: `12.4 s`. */
export function fine(seconds: number): string {
  const isSeconds = seconds >= 0.999_5 && seconds < 99.95;
  return isSeconds ? `${seconds.toFixed(1).replace(/\.0$/, '')}\u00a0s` : span(seconds);
}
