// The text that somebody is writing. It outlives the page that it is written on, as long as the console is open.
//
// Invariant: text that was written is only given up by whoever wrote it.

/** The text of a release. */
export interface Live {
  text: string;
  version: number;
}

export class Draft {
  text = $state('');
  /** The release that the text began as. */
  base = $state.raw<Live | null>(null);

  get isChanged(): boolean {
    return this.base !== null && this.text !== this.base.text;
  }

  /** Begins with what is live. */
  take(live: Live): void {
    this.base = live;
    this.text = live.text;
  }

  /** Another release may be live. It comes in by itself where nothing is lost: overrides, say, change no text. */
  follow(live: Live): void {
    if (!this.isChanged || live.text === this.text) this.take(live);
    else if (live.text === this.base?.text) this.base = live;
  }
}

export const draft = new Draft();
