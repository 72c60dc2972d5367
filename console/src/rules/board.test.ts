// The board of rules under answers that come late.
import { afterEach, expect, test, vi } from 'vitest';
import { Board } from './board.svelte';

afterEach(() => void vi.unstubAllGlobals());

// Goal: of two questions the later one counts, whichever is answered first.
// Method: a server that answers the second round before the first.
test('a late answer takes no newer one’s place', async () => {
  const waiting: { path: string; tell: (body: unknown) => void }[] = [];
  vi.stubGlobal('fetch', (path: string) => {
    return new Promise<Response>((done) => {
      const tell = (body: unknown) =>
        done(
          new Response(JSON.stringify(body), {
            headers: { ETag: `"${(body as { version: number }).version}"` },
          }),
        );
      waiting.push({ path, tell });
    });
  });
  const answer = (round: number, calls: typeof waiting) => {
    for (const { tell } of calls)
      tell({ version: round, releases: [], rules: [], switches: [{ rule: `r${round}`, rollout: 'off' }] });
  };
  const board = new Board();
  const first = board.refresh();
  const early = waiting.splice(0);
  const second = board.refresh();
  answer(2, waiting);
  await second;
  answer(1, early);
  await first;
  expect(early.length).toBe(5);
  expect(board.live?.version).toBe(2);
  expect(board.switches.map(({ rule }) => rule)).toEqual(['r2']);
});
