// What the page of rules knows of the server: the live release, its history, switches, and figures of shadows.
//
// Invariant: what is shown came from the server; a part that cannot be asked for keeps what was known last, and a late
// answer never takes the place of a newer one. Large answers are asked for when the release changes, small ones every
// few seconds.
import * as api from '../lib/api';
import { words } from '../lib/format';

/** How often small answers are asked for, in milliseconds. */
const AGAIN = 5000;

/** Every how many times the live release is asked for although its number is the same: its file may have a fault. */
const SELDOM = 6;

/** Characters of a text beyond which the release is only asked for when its number changes. */
const LARGE = 1 << 20;

/** Rows of figures that are asked for: as many as the server gives. */
const ROWS = 1000;

export class Board {
  live = $state.raw<api.Live | null>(null);
  text = $state.raw<{ text: string; version: number } | null>(null);
  releases = $state.raw<api.Listed[]>([]);
  switches = $state.raw<api.Switch[]>([]);
  counted = $state.raw<ReadonlyMap<string, api.Counted>>(new Map());
  /** Why nothing is known yet. */
  fault = $state<string | null>(null);
  /** Questions that were begun, and the last one that is answered; the same for the release. */
  private looks = 0;
  private seen = 0;
  private reads = 0;

  /** Looks again and again, until what is answered is called. */
  watch(): () => void {
    void this.refresh();
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible' && this.seen === this.looks) void this.glance();
    }, AGAIN);
    return () => clearInterval(timer);
  }

  /** Asks for everything. */
  async refresh(): Promise<void> {
    await Promise.all([this.release(), this.glance()]);
  }

  private async release(): Promise<void> {
    const turn = (this.reads += 1);
    try {
      // Both are of one release, but for the moment in which one takes the place of another.
      for (let tries = 0; tries < 3; tries += 1) {
        const [live, text] = await Promise.all([api.rules(), api.ruleText()]);
        if (turn !== this.reads) return;
        [this.live, this.text, this.fault] = [live, text, null];
        if (live.version === text.version) break;
      }
    } catch (error) {
      if (turn === this.reads) this.fault = words(error);
    }
  }

  /** Asks for what is small, and for the release if it is another. */
  private async glance(): Promise<void> {
    const turn = (this.looks += 1);
    const [releases, switches, top] = await Promise.allSettled([
      api.releases(),
      api.switches(),
      api.top(ROWS),
    ]);
    if (turn < this.seen) return;
    this.seen = turn;
    if (switches.status === 'fulfilled') this.switches = switches.value.switches;
    if (top.status === 'fulfilled') this.counted = new Map(top.value.rules.map((row) => [row.rule, row]));
    if (releases.status === 'rejected') return;
    this.releases = releases.value.releases;
    const isOther = this.live !== null && this.live.version !== releases.value.version;
    const isDue = turn % SELDOM === 0 && (this.text?.text.length ?? 0) < LARGE;
    if (isOther || isDue || (this.fault !== null && this.live === null)) await this.release();
  }
}
