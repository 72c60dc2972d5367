// What the console asks the server for: one function for each call, and what each answers.
import { ask, LONG, query, send, type Fault } from './call';

export * from './call';

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
  /** Its parts, and what each of them is, once the server knows them. */
  key: string[] | null;
  kinds: string[] | null;
  /** The parts were too long to be kept, and are no key as they are. */
  cut?: true;
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
  /** What each part is: `user`, `ip`, `header:x-b`, or `key` if that was not said. */
  kinds: string[];
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

/** A key under a rule, with what its parts are, so that no other of the same text is meant. */
export interface Named {
  rule: string;
  key: string[];
  kinds: string[] | null;
}

const named = ({ rule, key, kinds }: Named) => ({ rule, key, kind: kinds ?? [] });

export const logOf = (own: Named) => ask<Bucket>(`/v1/keys${query({ ...named(own), entries: 'true' })}`);
export const buckets = (key: string[]) => ask<Buckets>(`/v1/keys${query({ key })}`);
export const resetKey = (own: Named) => ask<Bucket>(`/v1/keys${query(named(own))}`, { method: 'DELETE' });

/** A part of a key as rule files write it: its value, or its value by what it is, such as `{user: acme}`. */
export type KeyPart = string | Record<string, string>;

export interface Override {
  rule: string;
  key: KeyPart | KeyPart[];
  limit: string | string[] | null;
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

export const rules = () => ask<Live>('/v1/rules', { patience: LONG });
export async function ruleText(): Promise<{ text: string; version: number }> {
  const { text, headers } = await send('/v1/rules', { accept: 'application/yaml', patience: LONG });
  return { text, version: Number((headers.get('ETag') ?? '').replaceAll('"', '')) };
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
