// The boundary burst: ten requests just before the edge of the clock's window, and ten just after, at every card.
//
// Invariant: it says that it has shown something only if the server decided the first ten before the edge and the
// others after it.
import { span } from '../lib/format';
import { nextEdge } from './evolve';
import { BURST, type Play } from './play.svelte';

/** Seconds before the edge at which the first ten begin: near to it, but with time for answers twice as slow as usual. */
const BEFORE_MIN = 0.3;
const BEFORE_MAX = 0.8;

/** Seconds behind the edge at which the others begin. */
const BEHIND = 0.02;

/** Looks that tell how long an answer takes. */
const LOOKS = 6;

/** Seconds that there have to be until the first ten: for whoever looks to get ready. */
const LEAD = 1;

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Runs it until it is over, or `stopped` says so; what is going on is told by `play.status`. */
export async function boundaryBurst(play: Play, stopped: () => boolean): Promise<void> {
  const fixed = play.cards.find((own) => own.card.algorithm === 'fixed_window');
  if (!fixed) return;
  play.status = 'Counters are reset …';
  await play.reset();
  // The first answers of a page take longer than those that follow.
  for (let looks = 0; looks < LOOKS; looks += 1) await play.look();
  const period = fixed.told?.period ?? 10;
  const before = Math.min(BEFORE_MAX, Math.max(BEFORE_MIN, 2 * BURST * play.clock.usual));
  const edge = nextEdge(play.clock.now(), period, before + LEAD);
  const until = async (time: number) => {
    while (play.clock.now() < time && !stopped()) {
      const away = edge - play.clock.now();
      if (away > before) play.status = `The window's edge comes in ${span(away)}`;
      await pause(Math.min(100, Math.max(1, (time - play.clock.now()) * 1000)));
    }
    return !stopped();
  };
  if (!(await until(edge - before))) return;
  play.status = `${BURST} requests just before the edge …`;
  await play.burst(play.cards);
  const early = play.cards.every((own) => (own.last?.at ?? Infinity) < edge);
  if (!(await until(edge + BEHIND))) return;
  play.status = `… and ${BURST} just after it`;
  await play.burst(play.cards);
  if (play.fault) return;
  if (!early) {
    play.status = 'The server answered too slowly to stay before the edge; try once more.';
    return;
  }
  const rest = play.cards.filter((own) => own !== fixed).map((own) => own.most);
  const others = Math.max(...rest);
  play.status =
    `Around the edge the fixed window let ${fixed.most} pass in ${span(period)}, ` +
    `the others ${others} at most.`;
}
