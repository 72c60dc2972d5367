// Who looks at the console, and what the server lets them do.
//
// Invariant: `may` is true only if the server said so; a page never finds out by trying.
import * as api from './api';
import { words } from './format';

class Who {
  known = $state<api.Session | null>(null);
  /** Whether the server answers. */
  away = $state(false);
  /** How often it came back: what a page could not ask for meanwhile, it asks for again. */
  back = $state(0);
  /** Why the server does not say who is here, in its words. */
  problem = $state<string | null>(null);
  /** What was wrong with signing in, or out. */
  fault = $state<string | null>(null);
  missed = false;
  private looking = false;

  /** Whether there is somebody who may look. */
  get isIn(): boolean {
    return this.known !== null && this.known.role !== null;
  }

  /** Whether they may change anything. */
  get may(): boolean {
    return this.known?.role === 'write';
  }

  /** Asks who is here; one question at a time, since it is asked often while nobody answers. */
  async look(): Promise<void> {
    if (this.looking) return;
    this.looking = true;
    try {
      this.take(await api.session());
      if (this.missed) this.back += 1;
      this.missed = false;
    } catch (error) {
      // That nobody answers shows by `away`; both are tried again.
      this.problem = error instanceof api.Problem && error.status === 0 ? null : words(error);
    }
    this.looking = false;
  }

  enter(token: string): Promise<void> {
    return this.change(api.signIn(token));
  }

  leave(): Promise<void> {
    return this.change(api.signOut());
  }

  private async change(call: Promise<api.Session>): Promise<void> {
    this.fault = null;
    try {
      this.take(await call);
    } catch (error) {
      this.fault = words(error);
    }
  }

  private take(found: api.Session): void {
    this.known = found;
    this.problem = null;
    api.proveWith(found.csrf);
  }
}

export const who = new Who();

api.heard.away = (away) => {
  if (who.away === away) return;
  who.away = away;
  // It may be another server when it is back, with other rules and tokens. Only what was asked of it by itself says that
  // it is, and seldom: whoever asks again could otherwise be what is refused.
  if (away) who.missed = true;
};
api.heard.unknown = () => {
  if (who.known) who.known = { ...who.known, role: null };
};
