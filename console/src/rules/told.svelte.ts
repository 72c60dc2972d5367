// What came of the last thing that somebody did on a page; shown by `Outcome.svelte`.
//
// Invariant: there is one at a time, and the next takes its place.
class Told {
  text = $state('');
  isBad = $state(false);

  done(text: string): void {
    [this.text, this.isBad] = [text, false];
  }

  failed(text: string): void {
    [this.text, this.isBad] = [text, true];
  }

  clear(): void {
    this.text = '';
  }
}

export const outcome = new Told();
