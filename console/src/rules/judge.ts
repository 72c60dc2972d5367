// Asks the server about a text that somebody is still writing.
//
// Invariant: one question is under way at a time, and only the answer about the newest text is told.

/** How long nobody has to write before the server is asked, in milliseconds. */
export const PAUSE = 250;

export class Judge<T> {
  private newest: string | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private busy = false;

  constructor(
    private readonly ask: (text: string) => Promise<T>,
    private readonly tell: (answer: T) => void,
    private readonly fail: (error: unknown) => void,
  ) {}

  /** A newer text. */
  hear(text: string): void {
    this.newest = text;
    this.rest();
    this.timer = setTimeout(() => {
      this.timer = null;
      void this.work();
    }, PAUSE);
  }

  /** Nobody wants to know any more. */
  stop(): void {
    this.newest = null;
    this.rest();
  }

  private rest(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  private async work(): Promise<void> {
    // Whoever is under way sees the newer text when it is done.
    if (this.busy) return;
    this.busy = true;
    while (this.newest !== null && this.timer === null) {
      const text = this.newest;
      let told: () => void;
      try {
        const answer = await this.ask(text);
        told = () => this.tell(answer);
      } catch (error) {
        told = () => this.fail(error);
      }
      if (this.newest !== text) continue;
      this.newest = null;
      told();
    }
    this.busy = false;
  }
}
