// The playground's calls: what waits for what, and what is said of those that fail.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { CardModel } from './model.svelte';
import { Play } from './play.svelte';

const card = { algorithm: 'fixed_window', mode: 'policing', limit: '10/10s' } as const;
let asked: string[];
let answers: ((status: number, now: number) => void)[];
let play: Play;

beforeEach(() => {
  [asked, answers] = [[], []];
  vi.stubGlobal('fetch', (path: string) => {
    asked.push(path.replace('/v1/playground/', ''));
    return new Promise<Response>((done) =>
      answers.push((status, now) => {
        const answer = { at: now, now, allowed: true, period: 10, amount: 10, burst: 10, state: null };
        const body = { now, answers: [answer], answer, kept: true, text: 'kept', detail: 'no' };
        done(new Response(JSON.stringify(body), { status }));
      }),
    );
  });
  vi.stubGlobal('localStorage', { setItem: () => {} });
  play = new Play();
  play.cards = [new CardModel(card)];
});

afterEach(() => void vi.unstubAllGlobals());

const settled = () => new Promise((done) => setTimeout(done));

it('changes wait for what was sent before', async () => {
  const all = [play.send(play.cards), play.reset(), play.change(play.cards[0]!, { ...card, limit: '5/10s' })];
  for (const [at, path] of ['send', 'reset', 'change'].entries()) {
    await settled();
    expect(asked).toEqual(['send', 'reset', 'change'].slice(0, at + 1));
    expect(asked[at]).toBe(path);
    answers[at]?.(200, 100 + at);
  }
  await Promise.all(all);
  expect([play.cards[0]?.last, play.cards[0]?.told?.now]).toEqual([null, 102]);
});

it('a look says nothing of a card that has other numbers by now', async () => {
  const look = play.look();
  const change = play.change(play.cards[0]!, { ...card, limit: '5/10s' });
  await settled();
  answers[1]?.(200, 100);
  await change;
  answers[0]?.(200, 101);
  await look;
  expect(play.cards[0]?.told?.now).toBe(100);
});

it('a clock that was set back is followed', async () => {
  for (const now of [100, 40]) {
    const sent = play.send(play.cards);
    await settled();
    answers.at(-1)?.(200, now);
    await sent;
  }
  expect([play.cards[0]?.told?.now, play.cards[0]?.events.all.length]).toEqual([40, 1]);
});

it('a fault stays until something works, and looks are apart from it', async () => {
  const sent = play.burst(play.cards);
  await settled();
  answers[0]?.(400, 100);
  expect(await sent).toBe(null);
  const look = play.refresh();
  void play.refresh();
  expect(asked).toEqual(['send', 'state']);
  answers[1]?.(200, 101);
  await look;
  expect([play.fault, play.unseen]).toEqual(['no', null]);
  const again = play.send(play.cards);
  await settled();
  answers[2]?.(200, 102);
  await again;
  expect(play.fault).toBe(null);
});
