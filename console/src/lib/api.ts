// The server, as the console asks it: one function for each call, and what each answers.
//
// Invariant: a call ends in its answer or in a `Problem`, whose words are the server's own where there are any.

export interface Figures {
  allowed: boolean;
  limit: number | null;
  remaining: number | null;
  retry_after: number | null;
  reset_after: number | null;
  delay: number | null;
  never: boolean;
}

export interface Result extends Figures {
  rule: string;
  shadow: boolean;
}

export interface Decision extends Figures {
  rule: string | null;
  source: string;
  id: string | null;
  version: number;
  results: Result[];
}

export interface Session {
  access: 'local' | 'token' | 'closed';
  role: 'read' | 'write' | null;
  csrf: string | null;
  demo: boolean;
  /** These are told to who may look. */
  node: string | null;
  version: string | null;
  store: 'memory' | 'redis' | null;
  release: number | null;
}

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

/** How long a call may take before the server counts as away: the server itself answers within 30 seconds. */
const PATIENCE = 35_000;

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
}

async function send(path: string, ask: Ask): Promise<Response> {
  const headers: Record<string, string> = { Accept: ask.accept ?? 'application/json' };
  if (ask.json !== undefined) headers['Content-Type'] = 'application/json';
  if (ask.text !== undefined) headers['Content-Type'] = 'application/yaml';
  if (ask.match !== undefined) headers['If-Match'] = `"${ask.match}"`;
  if (csrf && ask.method) headers['X-Csrf-Token'] = csrf;
  const body = ask.json === undefined ? ask.text : JSON.stringify(ask.json);
  const signal = AbortSignal.timeout(PATIENCE);
  let answer: Response;
  try {
    answer = await fetch(path, { method: ask.method ?? 'GET', headers, body: body ?? null, signal });
  } catch {
    heard.away(true);
    throw new Problem(0, 'The server does not answer.');
  }
  heard.away(false);
  if (answer.ok && answer.status !== 202) return answer;
  if (answer.status === 403 && csrf && ask.method && (await isRenewed())) return send(path, ask);
  if (answer.status === 401) heard.unknown();
  throw await problem(answer);
}

/** Whether another tab has signed in meanwhile, so that this one proves itself with an old value; with the new one then. */
async function isRenewed(): Promise<boolean> {
  const now = await fetch('/v1/session').then(
    (answer) => answer.json(),
    () => null,
  );
  if (typeof now?.csrf !== 'string' || now.csrf === csrf) return false;
  csrf = now.csrf;
  return true;
}

async function problem(answer: Response): Promise<Problem> {
  const told = await answer.json().catch(() => ({}));
  const words = typeof told.detail === 'string' ? told.detail : `The server answered ${answer.status}.`;
  return new Problem(answer.status, words, told.errors ?? [], told.more ?? 0, told.field ?? null);
}

export async function ask<T>(path: string, how: Ask = {}): Promise<T> {
  return (await send(path, how)).json();
}

/** A query of these names and values; a list is a name for each of its values. */
export function query(parts: Record<string, string | number | string[] | undefined>): string {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(parts)) {
    for (const one of Array.isArray(value) ? value : value === undefined ? [] : [value]) {
      all.append(name, String(one));
    }
  }
  return `?${all}`;
}

// Who is here.

export const session = () => ask<Session>('/v1/session');
export const signIn = (token: string) => ask<Session>('/v1/session', { method: 'POST', json: { token } });
export const signOut = () => ask<Session>('/v1/session', { method: 'DELETE' });

// Live figures.

export interface Shadow {
  asked: number;
  refused: number;
  callers: number;
  callers_refused: number;
}

export interface Counted {
  rule: string;
  allowed: number;
  refused: number;
  delayed: number;
  near_limit: number;
  shadow_refused: number;
  shadow?: Shadow;
}

export interface Frequent {
  rule: string;
  key: string[] | null;
  hash: string;
  count: number;
  refused: number;
  error: number;
}

export interface Top {
  seconds: number;
  version: number;
  node: string;
  rules: Counted[];
  keys: Frequent[];
  refused: Frequent[];
}

export const top = (limit: number) => ask<Top>(`/v1/top${query({ limit })}`);

// Keys.

export interface Bucket extends Result {
  key: string[];
  /** The tier whose limits these are, where tiers differ. */
  tier?: string;
  version: number;
  limits: string[];
  /** How each limit counts; null for permits. */
  algorithms: (string | null)[];
  source: string;
  entries?: { at: number; cost: number }[] | null;
}

export interface Buckets {
  key: string[];
  version: number;
  buckets: Bucket[];
  more: number;
  known: Frequent[];
}

export const bucket = (rule: string, key: string[], entries = false) =>
  ask<Bucket>(`/v1/keys${query({ rule, key, entries: entries ? 'true' : undefined })}`);
export const buckets = (key: string[]) => ask<Buckets>(`/v1/keys${query({ key })}`);
export const resetKey = (rule: string, key: string[]) =>
  ask<Bucket>(`/v1/keys${query({ rule, key })}`, { method: 'DELETE' });

/** A part of a key as rule files write it: its value, or its value by what it is, such as `{user: acme}`. */
export type KeyPart = string | Record<string, string>;

export interface Override {
  rule: string;
  key: KeyPart | KeyPart[];
  limit: string | null;
  until?: string;
  reason?: string;
  from?: 'api' | 'release';
}

export const overrides = () => ask<{ version: number; overrides: Override[] }>('/v1/overrides');
export const putOverride = (own: Override) => ask<Done>('/v1/overrides', { method: 'PUT', json: own });

// Decisions.

export interface Why {
  id: string;
  at: number;
  door: string;
  node: string;
  asked: { key: string[]; method?: string; path?: string; ip?: string };
  decision: Decision;
}

export const why = (id: string) => ask<Why>(`/v1/decisions/${encodeURIComponent(id)}`);
export const refusals = (limit: number) =>
  ask<{ node: string; refusals: Why[] }>(`/v1/decisions${query({ limit })}`);

// Rules.

export interface Done {
  version: number;
  source: string;
  change: string;
  rules: number;
  restart: string[];
  left_out: string[];
}

export interface RuleFile {
  tiers?: string[];
  rules?: Record<string, unknown>[];
  [field: string]: unknown;
}

export interface Live {
  version: number;
  source: string;
  at: string;
  by: string | null;
  change: string;
  restart: string[];
  fault: { source: string; at: string; errors: Fault[]; more: number } | null;
  file: RuleFile;
}

export interface Judged {
  valid: boolean;
  rules: number;
  errors: Fault[];
  more?: number;
  restart?: string[];
}

export interface Field {
  field: string;
  from: unknown;
  to: unknown;
}

export interface Difference {
  added: Record<string, unknown>[];
  removed: Record<string, unknown>[];
  changed: { rule: string; fields: Field[] }[];
  fields: Field[];
}

export interface Listed {
  version: number;
  source: string;
  at: string;
  by: string | null;
  change: string;
  rules: number;
  bytes: number;
}

export const rules = () => ask<Live>('/v1/rules');
export async function ruleText(): Promise<{ text: string; version: number }> {
  const answer = await send('/v1/rules', { accept: 'application/yaml' });
  const version = Number((answer.headers.get('ETag') ?? '').replaceAll('"', ''));
  return { text: await answer.text(), version };
}
export const validate = (text: string) => ask<Judged>('/v1/rules/validate', { method: 'POST', text });
export const diff = (text: string) =>
  ask<{ version: number; rules: number; difference: Difference }>('/v1/rules/diff', {
    method: 'POST',
    text,
  });
export const explain = (request: unknown) =>
  ask<Explanation>('/v1/rules/explain', { method: 'POST', json: { request } });
export const apply = (text: string, match: number) => ask<Done>('/v1/rules', { method: 'PUT', text, match });
export const putRule = (id: string, rule: unknown, match: number) =>
  ask<Done>(`/v1/rules/${encodeURIComponent(id)}`, { method: 'PUT', json: rule, match });
export const releases = () => ask<{ version: number; releases: Listed[] }>('/v1/releases');
export const restore = (version: number) => ask<Done>(`/v1/releases/${version}/restore`, { method: 'POST' });

/** One rule and a request: what it would do, or why it has nothing to do with it. */
export interface Explained {
  rule: string;
  applies: boolean;
  why_not: string | null;
  mode: 'enforced' | 'shadow' | 'off' | null;
  route: string | null;
  key: { part: string; value: string }[];
  limits: string[];
  algorithm: string | null;
  cost: number | null;
  limit: number | null;
  remaining: number | null;
}

export interface Explanation {
  version: number;
  path: string | null;
  address: string | null;
  user: string | null;
  tier: string | null;
  exempt: boolean;
  rules: Explained[];
}

export interface Switch {
  rule: string;
  rollout: string;
  until?: string | null;
  reason?: string | null;
  by?: string | null;
  at?: string;
  /** One of the operator's file stands until it is taken out of there. */
  from?: 'api' | 'file';
}

export const switches = () => ask<{ switches: Switch[] }>('/v1/switches');
export const turn = (rule: string, own: { rollout: string; for?: string; reason?: string } | null) =>
  ask<unknown>(`/v1/switches/${encodeURIComponent(rule)}`, { method: 'PUT', json: own });
