// A request that somebody describes, for the server to explain.
//
// Invariant: header lines that cannot be read are told by their number, and nothing is left out in silence.

export interface Asked {
  method: string;
  path: string;
  ip: string;
  user: string;
  lines: string;
}

/** A request as `POST /v1/rules/explain` takes it, or what is wrong with it. */
export function request(asked: Asked): { request: Record<string, unknown> } | { fault: string } {
  const headers: Record<string, string[]> = {};
  const names = new Map<string, string>();
  for (const [at, line] of asked.lines.split('\n').entries()) {
    if (line.trim() === '') continue;
    const found = /^\s*([^\s:]+)\s*:\s*(.*?)\s*$/.exec(line);
    if (!found) return { fault: `Line ${at + 1} of the header fields is not “Name: value”.` };
    const [name, value] = [found[1] ?? '', found[2] ?? ''];
    const known = names.get(name.toLowerCase()) ?? name;
    names.set(name.toLowerCase(), known);
    (headers[known] ??= []).push(value);
  }
  const own: Record<string, unknown> = { method: asked.method.trim(), path: asked.path.trim() };
  if (asked.ip.trim() !== '') own['ip'] = asked.ip.trim();
  if (asked.user.trim() !== '') own['user'] = asked.user.trim();
  if (names.size > 0) own['headers'] = headers;
  return { request: own };
}

/** How many apply, in words. */
export function applying(applies: number, all: number): string {
  if (all === 0) return 'There are no rules.';
  if (applies === 0) return all === 1 ? 'The rule does not apply.' : `None of ${all} rules applies.`;
  return `${applies} of ${all} ${all === 1 ? 'rule' : 'rules'} ${applies === 1 ? 'applies' : 'apply'}.`;
}
