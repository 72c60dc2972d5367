// How the server is asked, and what becomes of an answer that is none.
//
// Invariant: a call ends in its answer or in a `Problem`, whose words are the server's own where there are any.
import { note } from './time';

export interface Fault {
  file: string;
  line: number;
  column: number;
  fault: string;
  repair: string;
}

/** A call that was not answered as it should: by the server, or, with status 0, by nobody. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly errors: Fault[] = [],
    readonly more = 0,
    readonly field: string | null = null,
  ) {
    super(message);
  }
}

/** How long a look may take before the server counts as away, in milliseconds, and how long a change, or what may be
    large: for that the server has 30 seconds itself. */
export const LOOK = 10_000;
export const LONG = 35_000;

/** What this page proves with each change that its own server let it in. */
let csrf: string | null = null;

export function proveWith(token: string | null): void {
  csrf = token;
}

/** Is told of answers that say who the caller is not (401), and whether the server answers at all. */
export const heard: { unknown: () => void; away: (away: boolean) => void } = {
  unknown: () => {},
  away: () => {},
};

interface Ask {
  method?: string;
  json?: unknown;
  text?: string;
  accept?: string;
  match?: number;
  /** Milliseconds until it is given up. */
  patience?: number;
}

interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

export async function send(path: string, ask: Ask): Promise<Answer> {
  const headers: Record<string, string> = { Accept: ask.accept ?? 'application/json' };
  if (ask.json !== undefined) headers['Content-Type'] = 'application/json';
  if (ask.text !== undefined) headers['Content-Type'] = 'application/yaml';
  if (ask.match !== undefined) headers['If-Match'] = `"${ask.match}"`;
  if (csrf && ask.method) headers['X-Csrf-Token'] = csrf;
  const body = (ask.json === undefined ? ask.text : JSON.stringify(ask.json)) ?? null;
  const signal = AbortSignal.timeout(ask.patience ?? (ask.method ? LONG : LOOK));
  const asked = Date.now();
  let [answer, text]: [Response | null, string] = [null, ''];
  try {
    answer = await fetch(path, { method: ask.method ?? 'GET', headers, body, signal });
    note(answer.headers.get('Date'), asked, Date.now());
    text = await answer.text();
  } catch {
    heard.away(true);
    throw new Problem(0, 'The server does not answer.');
  }
  heard.away(false);
  if (answer.ok && answer.status !== 202) return { status: answer.status, headers: answer.headers, text };
  if (answer.status === 403 && csrf && ask.method && (await isRenewed())) return send(path, ask);
  throw refused(answer.status, text);
}

/** Whether another tab has signed in meanwhile, so that this one proves itself with an old value; with the new one then. */
async function isRenewed(): Promise<boolean> {
  const now = await fetch('/v1/session', { signal: AbortSignal.timeout(LOOK) }).then(
    (answer) => answer.json(),
    () => null,
  );
  if (typeof now?.csrf !== 'string' || now.csrf === csrf) return false;
  csrf = now.csrf;
  return true;
}

/** The members of a text; nothing if it has none, as a proxy's page. */
function members(text: string): Record<string, unknown> | null {
  try {
    const found = JSON.parse(text);
    return typeof found === 'object' ? found : null;
  } catch {
    return null;
  }
}

function refused(status: number, text: string): Problem {
  if (status === 401) heard.unknown();
  const told = members(text) ?? {};
  const { detail, errors, more, field } = told;
  return new Problem(
    status,
    typeof detail === 'string' ? detail : `The server answered ${status}, without saying why.`,
    Array.isArray(errors) ? errors : [],
    typeof more === 'number' ? more : 0,
    typeof field === 'string' ? field : null,
  );
}

export async function ask<T>(path: string, how: Ask = {}): Promise<T> {
  const { status, text } = await send(path, how);
  const found = members(text);
  if (!found)
    throw new Problem(status, 'What answers here is not the server, or not all of its answer came.');
  return found as T;
}

/** Why a stream is refused, in words; nothing if it is not. */
export async function refusal(path: string): Promise<string | null> {
  const gone = new AbortController();
  const timer = setTimeout(() => gone.abort(), LOOK);
  try {
    const answer = await fetch(path, { signal: gone.signal });
    return answer.ok ? null : refused(answer.status, await answer.text()).message;
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
    gone.abort();
  }
}

/** A query of these names and values; a list is a name for each of its values. */
export function query(parts: Record<string, string | number | string[]>): string {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(parts)) {
    for (const one of Array.isArray(value) ? value : [value]) all.append(name, String(one));
  }
  return `?${all}`;
}
