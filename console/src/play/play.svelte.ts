// The playground: its cards, its visitor, and all that can be done.
//
// Invariants: what a visitor does goes to that visitor's own buckets; a request is drawn when the server has answered
// it; whatever changes a bucket is sent when what was before is answered.
import { Problem } from '../lib/api';
import { words } from '../lib/format';
import * as api from './api';
import { ServerClock } from './clock';
import { follow, keep, newVisitor, recall } from './kept';
import { CardModel } from './model.svelte';

/** What went wrong, unless nobody answered, which shows by itself. */
function told(error: unknown): string | null {
  return error instanceof Problem && error.status === 0 ? null : words(error);
}

/** Requests of a burst. */
export const BURST = 10;

export class Play {
  readonly clock = new ServerClock();
  cards = $state.raw<CardModel[]>([]);
  visitor = $state('');
  /** The server's time, as the pictures show it. */
  now = $state(0);
  /** The same, as the strips show it: they are drawn in turns with the pictures, so that no frame has to do both. */
  strip = $state(0);
  /** What went wrong with the last thing that was done, and with the last look, in words. */
  fault = $state<string | null>(null);
  unseen = $state<string | null>(null);
  /** What is under way for all cards, in words, and how long it takes: that changes too often to be read out. */
  status = $state<string | null>(null);
  countdown = $state<string | null>(null);
  /** Whether nothing may be sent but by what is under way for all cards. */
  quiet = $state(false);
  private defaults: api.Card[] = [];
  /** The last change that was sent. */
  private line: Promise<unknown> = Promise.resolve();
  private looking = false;

  /** The length of the windows whose edges strips show. */
  get period(): number {
    return this.cards.find((own) => own.card.algorithm === 'fixed_window')?.told?.period ?? 10;
  }

  /** Asks the server for the cards, and takes up where this browser was. */
  async begin(): Promise<void> {
    const asked = performance.now();
    const { now, cards } = await api.begin();
    this.tick(now, asked);
    // One card for each algorithm: the leaky bucket has two modes, and begins as a policeman.
    this.defaults = cards
      .filter((card) => card.mode === 'policing')
      .map(({ algorithm, mode, limit }) => ({ algorithm, mode, limit }));
    const kept = recall();
    this.visitor = kept?.visitor ?? newVisitor();
    const known = (card: api.Card) => kept?.cards.find((own) => own.algorithm === card.algorithm) ?? card;
    this.cards = this.defaults.map((card) => new CardModel(known(card)));
    for (let tries = this.cards.length; ; tries -= 1) {
      try {
        await this.look();
        break;
      } catch (error) {
        // Numbers that this server does not take: those of the demo will do for that card.
        const index =
          error instanceof Problem && error.status === 400 && /^cards\[(\d)\]/.exec(error.field ?? '');
        const refused = index ? this.cards[Number(index[1])] : undefined;
        const original = refused && this.original(refused);
        if (!refused || !original || tries <= 0) throw error;
        refused.card = original;
      }
    }
    this.remember();
  }

  /** Follows another tab of the same browser. */
  follow(): () => void {
    return follow((kept) => {
      this.visitor = kept.visitor;
      for (const own of this.cards) {
        const card = kept.cards.find((other) => other.algorithm === own.card.algorithm);
        if (card && (card.limit !== own.card.limit || card.mode !== own.card.mode)) {
          own.card = card;
          own.told = null;
          own.recount();
        }
      }
      void this.look().catch(() => {});
    });
  }

  private remember(): void {
    keep({ visitor: this.visitor, cards: this.cards.map((own) => own.card) });
  }

  /** What could not be done. That nobody answers, the frame says, as long as it is so. */
  failed(error: unknown): void {
    this.fault = told(error);
  }

  /** Begins, or looks again; one look at a time. */
  async refresh(): Promise<void> {
    if (this.looking) return;
    this.looking = true;
    try {
      await (this.cards.length === 0 ? this.begin() : this.look());
      this.unseen = null;
    } catch (error) {
      this.unseen = told(error);
    }
    this.looking = false;
  }

  /** Does something when all that was asked for before is done. */
  private inLine<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.line.catch(() => {}).then(work);
    this.line = turn;
    return turn;
  }

  /** An answer said what time it is; states that it told are drawn by that time, and by no earlier one. */
  private tick(now: number, asked: number): void {
    // What was told by a clock that was set back lies in the future, and would stay there.
    if (this.clock.note(now, asked, performance.now())) this.cards.forEach((own) => own.forget(null));
    this.now = this.clock.now();
  }

  private async timed(call: Promise<api.Answers>): Promise<api.Told[]> {
    const asked = performance.now();
    const { now, answers } = await call;
    this.tick(now, asked);
    return answers;
  }

  /** Looks at all buckets; charges nothing. */
  async look(): Promise<void> {
    const all = this.cards.map((own) => ({ own, card: own.card }));
    const answers = await this.timed(
      api.state(
        this.visitor,
        all.map(({ card }) => card),
      ),
    );
    // Of a card that has other numbers by now, it says nothing.
    all.forEach(({ own, card }, index) => own.card === card && answers[index] && own.looked(answers[index]));
  }

  /** Sends a request to each of these cards, at its own cost; tells what was answered. */
  send(cards: CardModel[]): Promise<api.Told[]> {
    return this.inLine(() => this.sendNow(cards));
  }

  private async sendNow(cards: CardModel[]): Promise<api.Told[]> {
    const costs = new Map<number, CardModel[]>();
    for (const own of cards) costs.set(own.cost, [...(costs.get(own.cost) ?? []), own]);
    const all: api.Told[] = [];
    for (const [units, group] of costs) {
      const answers = await this.timed(
        api.send(
          this.visitor,
          group.map((own) => own.card),
          units,
        ),
      );
      group.forEach((own, index) => answers[index] && own.decided(answers[index], units));
      all.push(...answers);
    }
    this.fault = null;
    return all;
  }

  /** Sends so many requests in sequence, and shows that these cards are busy meanwhile; nothing if one failed. */
  async burst(cards: CardModel[], times = BURST): Promise<api.Told[] | null> {
    cards.forEach((own) => (own.busy = true));
    const all: api.Told[] = [];
    try {
      for (let sent = 0; sent < times; sent += 1) all.push(...(await this.send(cards)));
      return all;
    } catch (error) {
      this.failed(error);
      return null;
    } finally {
      cards.forEach((own) => (own.busy = false));
    }
  }

  reset(): Promise<void> {
    return this.inLine(async () => {
      const cards = this.cards;
      const answers = await this.timed(
        api.reset(
          this.visitor,
          cards.map((own) => own.card),
        ),
      );
      cards.forEach((own, index) => answers[index] && own.forget(answers[index]));
      this.fault = null;
    });
  }

  /** Gives a card other numbers; the server says what becomes of what was used. */
  change(own: CardModel, to: api.Card): Promise<void> {
    return this.inLine(async () => {
      const asked = performance.now();
      try {
        const { now, kept, text, answer } = await api.change(this.visitor, own.card, to);
        this.tick(now, asked);
        own.card = to;
        own.told = answer;
        own.note = { text, wrong: false };
        if (!kept) own.last = null;
        own.recount();
        this.remember();
      } catch (error) {
        // The page has one field for it, whose name in the call says nothing to who reads this.
        const text = words(error).replace(/^`(?:to|from)\.(\w+)` /, 'The $1 ');
        own.note = { text, wrong: true };
      }
    });
  }

  /** The numbers that the card had at first. */
  original(own: CardModel): api.Card | undefined {
    return this.defaults.find((card) => card.algorithm === own.card.algorithm);
  }
}
