// Only the newest text is judged, and not before nobody writes.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Judge, PAUSE } from './judge';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function set() {
  const asked: { text: string; answer: (value: string) => void; fail: (error: Error) => void }[] = [];
  const heard: string[] = [];
  const ask = (text: string) => new Promise<string>((answer, fail) => asked.push({ text, answer, fail }));
  const judge = new Judge<string>(
    ask,
    (answer) => heard.push(answer),
    (error) => heard.push(`failed: ${(error as Error).message}`),
  );
  return { judge, asked, heard };
}

// Goal: the server is asked when nobody has written for the pause, and no sooner.
// Method: the last moment before, and the moment.
test('a pause comes before a question', async () => {
  const { judge, asked } = set();
  judge.hear('a');
  await vi.advanceTimersByTimeAsync(PAUSE - 1);
  judge.hear('ab');
  await vi.advanceTimersByTimeAsync(PAUSE - 1);
  expect(asked).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked.map((one) => one.text)).toEqual(['ab']);
});

// Goal: an answer about an older text is not told, and the newer one is asked about once it is there.
// Method: write while a question is under way.
test('the newest answer wins', async () => {
  const { judge, asked, heard } = set();
  judge.hear('old');
  await vi.advanceTimersByTimeAsync(PAUSE);
  judge.hear('new');
  await vi.advanceTimersByTimeAsync(PAUSE);
  expect(asked.length).toBe(1);
  asked[0]?.answer('of old');
  await vi.advanceTimersByTimeAsync(0);
  expect(heard).toEqual([]);
  expect(asked.map((one) => one.text)).toEqual(['old', 'new']);
  asked[1]?.answer('of new');
  await vi.advanceTimersByTimeAsync(0);
  expect(heard).toEqual(['of new']);
});

// Goal: an answer that comes while somebody writes on is dropped, and the pause still counts.
// Method: an answer within the pause.
test('an answer within the pause is dropped', async () => {
  const { judge, asked, heard } = set();
  judge.hear('old');
  await vi.advanceTimersByTimeAsync(PAUSE);
  judge.hear('new');
  asked[0]?.answer('of old');
  await vi.advanceTimersByTimeAsync(PAUSE - 1);
  expect([asked.length, heard.length]).toEqual([1, 0]);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked.length).toBe(2);
});

// Goal: a question that fails is told, and the next one is asked.
// Method: one that fails, one that does not.
test('a question that fails does not end it', async () => {
  const { judge, asked, heard } = set();
  judge.hear('a');
  await vi.advanceTimersByTimeAsync(PAUSE);
  asked[0]?.fail(new Error('away'));
  await vi.advanceTimersByTimeAsync(0);
  judge.hear('a');
  await vi.advanceTimersByTimeAsync(PAUSE);
  asked[1]?.answer('fine');
  await vi.advanceTimersByTimeAsync(0);
  expect(heard).toEqual(['failed: away', 'fine']);
});

// Goal: who has stopped hears nothing more.
// Method: stop while a question waits, and while one is under way.
test('after a stop there are no questions and no answers', async () => {
  const { judge, asked, heard } = set();
  judge.hear('a');
  await vi.advanceTimersByTimeAsync(PAUSE);
  judge.hear('b');
  judge.stop();
  asked[0]?.answer('of a');
  await vi.advanceTimersByTimeAsync(2 * PAUSE);
  expect([asked.length, heard.length]).toEqual([1, 0]);
});
