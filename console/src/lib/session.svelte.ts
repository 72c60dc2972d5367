// Who looks at the console, and what the server lets them do.
//
// Invariant: `may` is true only if the server said so; a page never finds out by trying.
import * as api from './api';

class Who {
  known = $state<api.Session | null>(null);
  /** Whether the server answers. */
  away = $state(false);
  /** What was wrong with the token that was last tried. */
  fault = $state<string | null>(null);

  /** Whether there is somebody who may look. */
  get isIn(): boolean {
    return this.known !== null && this.known.role !== null;
  }

  /** Whether they may change anything. */
  get may(): boolean {
    return this.known?.role === 'write';
  }

  async look(): Promise<void> {
    try {
      this.take(await api.session());
    } catch {
      // That nobody answers shows by `away`, and is tried again.
    }
  }

  async enter(token: string): Promise<void> {
    this.fault = null;
    try {
      this.take(await api.signIn(token));
    } catch (error) {
      this.fault = error instanceof Error ? error.message : String(error);
    }
  }

  async leave(): Promise<void> {
    this.take(await api.signOut());
  }

  private take(found: api.Session): void {
    this.known = found;
    api.proveWith(found.csrf);
  }
}

export const who = new Who();

api.heard.away = (away) => {
  if (who.away === away) return;
  who.away = away;
  // It may be another server by now, with other rules and tokens.
  if (!away) void who.look();
};
api.heard.unknown = () => {
  if (who.known) who.known = { ...who.known, role: null };
};
