// Calls that end in an answer, and all the ways in which they do not.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ask, heard, Problem, query, refusal } from './call';

let away: boolean[];
let unknown: number;

beforeEach(() => {
  [away, unknown] = [[], 0];
  heard.away = (own) => void away.push(own);
  heard.unknown = () => void (unknown += 1);
});
afterEach(() => void vi.unstubAllGlobals());

const answering = (answer: () => Promise<unknown>) => vi.stubGlobal('fetch', answer);
const saying = (status: number, text: string) => answering(async () => new Response(text, { status }));
const asked = () => ask('/v1/x').catch((error: unknown) => error);

// Goal: whatever is no answer of this server becomes a problem in plain words.
// Method: a proxy's page, nothing, half of an answer, and texts that are JSON without members.
test('what cannot be read is a problem', async () => {
  for (const text of ['<html>', '', '{"a":', 'null', '7']) {
    saying(200, text);
    const found = await asked();
    expect(found).toBeInstanceOf(Problem);
    expect((found as Problem).message).toContain('not the server');
  }
  saying(200, '{"a":1}');
  expect(await asked()).toEqual({ a: 1 });
});

// Goal: a refusal has the server's words, and without them words of our own; 401 is told on.
// Method: a problem, a proxy's page, null, and members of other types.
test('a refusal has words', async () => {
  const errors = [{ file: 'body', line: 1, column: 1, fault: 'a', repair: 'b' }];
  saying(422, JSON.stringify({ detail: 'two faults', errors, more: 1, field: 'limit' }));
  expect(await asked()).toMatchObject({
    status: 422,
    message: 'two faults',
    errors,
    more: 1,
    field: 'limit',
  });
  for (const text of ['<html>', 'null', '{"detail":7,"errors":"x","more":"y","field":1}']) {
    saying(502, text);
    const message = 'The server answered 502, without saying why.';
    expect(await asked()).toMatchObject({ status: 502, message, errors: [], more: 0, field: null });
  }
  saying(401, '{}');
  expect([((await asked()) as Problem).status, unknown]).toEqual([401, 1]);
});

// Goal: who does not answer is away, also where an answer breaks off.
// Method: no connection, and a body that fails.
test('nobody answers', async () => {
  answering(() => Promise.reject(new TypeError('failed')));
  expect(await asked()).toMatchObject({ status: 0, message: 'The server does not answer.' });
  answering(async () => new Response(new ReadableStream({ pull: (at) => at.error(new Error('cut')) })));
  expect(await asked()).toMatchObject({ status: 0 });
  expect(away).toEqual([true, true]);
});

// Goal: why a stream is refused is told, and of one that is not, nothing.
// Method: full, without words, let in, and nobody there.
test('a refused stream says why', async () => {
  saying(503, '{"detail":"32 listen already"}');
  expect(await refusal('/v1/stream')).toBe('32 listen already');
  saying(200, 'event: x');
  expect(await refusal('/v1/stream')).toBe(null);
  answering(() => Promise.reject(new TypeError('failed')));
  expect(await refusal('/v1/stream')).toBe(null);
});

// Goal: lists are a name for each value, in order.
// Method: a key of two parts, and a list of none.
test('a query has a name for each value', () => {
  expect(query({ rule: 'a b', key: ['x', '&'], kind: [] })).toBe('?rule=a+b&key=x&key=%26');
});
