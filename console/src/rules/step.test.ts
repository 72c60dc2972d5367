// Steps of a roll-out that others may be ahead of.
import { afterEach, expect, test, vi } from 'vitest';
import { make } from './step';

const step = { rule: { id: 'api', limit: '5/second' }, id: 'api', to: '10%', version: 7 };

afterEach(() => void vi.unstubAllGlobals());

/** A server that answers each call so; tells what it was asked. */
function answering(status: number, body: unknown): { path: string; init: RequestInit }[] {
  const calls: { path: string; init: RequestInit }[] = [];
  vi.stubGlobal('fetch', async (path: string, init: RequestInit) => {
    calls.push({ path, init });
    return new Response(JSON.stringify(body), { status });
  });
  return calls;
}

// Goal: the release that was shown goes with the step, whatever is live by then.
// Method: the header field and the body of the call.
test('a step is made from the release that was shown', async () => {
  const calls = answering(200, { version: 8 });
  expect((await make(step)).version).toBe(8);
  expect(calls[0]?.path).toBe('/v1/rules/api');
  expect((calls[0]?.init.headers as Record<string, string>)['If-Match']).toBe('"7"');
  expect(JSON.parse(String(calls[0]?.init.body))).toEqual({ id: 'api', limit: '5/second', rollout: '10%' });
});

// Goal: what somebody else has changed meanwhile is not undone, and whoever steps is told; other faults keep their words.
// Method: the answers of a server that has another release, and of one that finds a fault.
test('a step from an old release is a conflict', async () => {
  answering(412, { detail: 'If-Match is 7, and 8 is live' });
  await expect(make(step)).rejects.toMatchObject({ status: 412, message: /Another release was made/ });
  answering(422, { detail: 'the rule has a fault' });
  await expect(make(step)).rejects.toMatchObject({ status: 422, message: 'the rule has a fault' });
});
