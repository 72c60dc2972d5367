// The boundary burst: ten requests just before the edge of the clock's window, and ten just after, at every card.
//
// Invariant: it says that it has shown something only if the server decided the first ten in the window before the edge
// and the others in the window after it, and nothing else was sent meanwhile.
import { span } from '../lib/format';
import type { Told } from './api';
import { nextEdge } from './evolve';
import { BURST, type Play } from './play.svelte';

/** Seconds before the edge at which the first ten begin: near to it, but with time for answers twice as slow as usual. */
const BEFORE_MIN = 0.3;
const BEFORE_MAX = 3;

/** Seconds behind the edge at which the others begin. */
const BEHIND = 0.02;

/** Looks that tell how long an answer takes. */
const LOOKS = 6;

/** Seconds that there have to be until the first ten: for whoever looks to get ready. */
const LEAD = 1;

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Seconds before the edge at which to begin, for answers that take so long, and windows of this length. */
export function ahead(usual: number, period: number): number {
  return Math.min(BEFORE_MAX, period / 2, Math.max(BEFORE_MIN, 2 * BURST * usual));
}

/** Whether all of these were decided within a window. */
export function isWithin(answers: Told[], from: number, period: number): boolean {
  return answers.every(({ at }) => at >= from && at < from + period);
}

/** Runs it until it is over, or `stopped` says so; what is going on is told by `play.status`. */
export async function boundaryBurst(play: Play, stopped: () => boolean): Promise<void> {
  play.quiet = true;
  try {
    play.status = await run(play, stopped);
  } finally {
    play.quiet = false;
    play.countdown = null;
  }
}

/** What came of it, in words; nothing if it was stopped. */
async function run(play: Play, stopped: () => boolean): Promise<string | null> {
  const fixed = play.cards.find((own) => own.card.algorithm === 'fixed_window');
  if (!fixed) return null;
  play.status = 'Counters are reset …';
  await play.reset();
  // The first answers of a page take longer than those that follow.
  for (let looks = 0; looks < LOOKS; looks += 1) await play.look();
  const period = fixed.told?.period ?? 10;
  const before = ahead(play.clock.usual, period);
  const edge = nextEdge(play.clock.now(), period, before + LEAD);
  play.status = `The window's edge comes in ${span(edge - play.clock.now())}`;
  const until = async (time: number) => {
    while (play.clock.now() < time && !stopped()) {
      const away = edge - play.clock.now();
      play.countdown = away > before ? `The window's edge comes in ${span(away)}` : null;
      await pause(Math.min(100, Math.max(1, (time - play.clock.now()) * 1000)));
    }
    play.countdown = null;
    return !stopped();
  };
  if (!(await until(edge - before))) return null;
  play.status = `${BURST} requests just before the edge …`;
  const first = await play.burst(play.cards);
  if (!(await until(edge + BEHIND))) return null;
  play.status = `… and ${BURST} just after it`;
  const second = first && (await play.burst(play.cards));
  if (!first || !second) return 'It did not work: not every request was answered. Try once more.';
  if (!isWithin(first, edge - period, period) || !isWithin(second, edge, period))
    return 'It did not work: the server answered too slowly to stay on its side of the edge. Try once more.';
  const rest = play.cards.filter((own) => own !== fixed).map((own) => own.most);
  return (
    `Around the edge the fixed window let ${fixed.most} pass in ${span(period)}, ` +
    `the others ${Math.max(...rest)} at most.`
  );
}
