// Every button of the playground, against a real server, with its state in memory and on Redis.
import { card, expect, left, NAMES, test, watch } from './page';
import { RULES } from './rules';
import { Redis, Server } from './server';

for (const store of ['memory', 'redis'] as const) {
  test.describe(`the playground on ${store}`, () => {
    let redis: Redis | null = null;
    let server: Server;

    test.beforeAll(async () => {
      redis = store === 'redis' ? await Redis.start() : null;
      // A deadline that a busy machine keeps: an outage is another test's.
      const shared = `store: {url: "${redis?.url}", deadline: 2s}\n${RULES}`;
      server = await Server.start(redis ? shared : undefined);
    });

    test.afterAll(async () => {
      await server?.stop();
      await redis?.stop();
    });

    test.beforeEach(async ({ page }) => {
      await page.goto(`${server.url}/#playground`);
      await expect(page.getByRole('article')).toHaveCount(5);
      await expect(left(page, 'Fixed window')).toHaveAttribute('data-left', '10');
    });

    // Goal: a request is decided by the server, and shown as what it is.
    test('Send Request and Burst 10 at every card', async ({ page }) => {
      for (const name of NAMES) {
        const own = card(page, name);
        await own.getByRole('button', { name: 'Send Request' }).click();
        await expect(own.locator('[data-outcome]')).toHaveAttribute('data-outcome', 'allowed');
        await expect(own.locator('[data-most]')).toHaveAttribute('data-most', '1');
        await own.getByRole('button', { name: 'Burst 10' }).click();
        // Ten fit, and whatever a bucket got back meanwhile.
        await expect
          .poll(async () => Number(await own.locator('[data-most]').getAttribute('data-most')))
          .toBeGreaterThanOrEqual(10);
        await expect(own.getByRole('button', { name: 'Burst 10' })).toBeEnabled();
        await expect(own.getByRole('img')).toHaveAttribute(
          'aria-label',
          new RegExp(`${name}, last 20 seconds`),
        );
      }
    });

    // Goal: a refusal has the right numbers: the figures of the server, and a countdown that ends.
    test('a refusal counts down to the time that works', async ({ page }) => {
      const own = card(page, 'Sliding window log');
      await own.getByRole('spinbutton', { name: 'cost' }).fill('10');
      await own.getByRole('button', { name: 'Send Request' }).click();
      await expect(left(page, 'Sliding window log')).toHaveAttribute('data-left', '0');
      await own.getByRole('spinbutton', { name: 'cost' }).fill('1');
      const answer = page.waitForResponse((one) => one.url().endsWith('/v1/playground/send'));
      await own.getByRole('button', { name: 'Send Request' }).click();
      const told = (await (await answer).json()).answers[0];
      expect(told.allowed).toBe(false);
      expect(told.retry_after).toBeGreaterThan(5);
      expect(told.retry_after).toBeLessThanOrEqual(10);
      await expect(own.locator('[data-outcome=refused]')).toContainText(/retry in \d/);
      await own.getByText('Headers and curl').click();
      await expect(own).toContainText('HTTP/1.1 429 Too Many Requests');
      await expect(own).toContainText(`retry-after: ${Math.ceil(told.retry_after)}`);
      await expect(own).toContainText('ratelimit-policy: "sliding_window_log";q=10;w=10');
      // It is over when it was said to be, and the whole cost is back.
      await expect(left(page, 'Sliding window log')).toHaveAttribute('data-left', '10', { timeout: 15_000 });
    });

    // Goal: the line of curl does what the button does, to the same bucket.
    test('the curl line reaches the same bucket', async ({ page }) => {
      const own = card(page, 'Sliding window log');
      await own.getByText('Headers and curl').click();
      const line = (await own.getByLabel('The same request from a shell').textContent()) ?? '';
      const [, body, url] = /^curl --json '(.*)' (.*)$/.exec(line) ?? [];
      const answer = await fetch(url ?? '', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: body ?? '',
      });
      expect((await answer.json()).answers[0].remaining).toBe(9);
      // The page looks what is left by itself.
      await expect(left(page, 'Sliding window log')).toHaveAttribute('data-left', '9');
    });

    // Goal: Send to all and Reset All Counters reach every card.
    test('all at once, and back to the beginning', async ({ page }) => {
      await page.getByRole('button', { name: 'Send to all' }).click();
      for (const name of NAMES) await expect(card(page, name).locator('[data-most="1"]')).toBeVisible();
      await page.getByRole('button', { name: 'Reset All Counters' }).click();
      for (const name of NAMES) {
        await expect(left(page, name)).toHaveAttribute('data-left', '10');
        await expect(card(page, name)).toContainText('no request yet');
        await expect(card(page, name).locator('[data-most="0"]')).toBeVisible();
      }
    });

    // Goal: around the clock's edge the fixed window lets 20 pass, and the log 10.
    test('the boundary burst shows 20 against 10', async ({ page }) => {
      const status = page.getByRole('status');
      // A machine that is busy may miss the edge; the page says so, and to try once more. The counter may let one more
      // pass for each second that the second half takes.
      await expect(async () => {
        await page.getByRole('button', { name: 'Boundary burst' }).click();
        await expect(status).toContainText(/edge/);
        await expect(status).toContainText(/Around the edge|once more/, { timeout: 20_000 });
        expect(await status.textContent()).toContain('Around the edge the fixed window let 20 pass');
        const most = (name: string) => card(page, name).locator('[data-most]');
        await expect(most('Fixed window')).toHaveAttribute('data-most', '20');
        await expect(most('Fixed window')).toHaveClass(/refused/);
        await expect(most('Sliding window log')).toHaveAttribute('data-most', '10');
        await expect(most('Sliding window log')).not.toHaveClass(/refused/);
        expect(Number(await most('Sliding window counter').getAttribute('data-most'))).toBeLessThan(15);
      }).toPass({ timeout: 55_000 });
    });

    // Goal: whoever does not want to wait for the edge can stop, and nothing was sent.
    test('a boundary burst can be stopped', async ({ page }) => {
      // With enough time until the edge to stop in.
      await expect
        .poll(async () => (await server.ask('/v1/playground')).now % 10, { intervals: [500] })
        .toBeLessThan(4);
      await page.getByRole('button', { name: 'Boundary burst' }).click();
      await expect(page.getByRole('button', { name: 'Stop' })).toBeVisible();
      await page.getByRole('button', { name: 'Stop' }).click();
      await expect(page.getByRole('button', { name: 'Boundary burst' })).toBeEnabled();
      for (const name of NAMES) await expect(card(page, name)).toContainText('no request yet');
    });

    // Goal: shaping delays instead of refusing, and shows who waits; steady traffic goes on by itself, and stops.
    test('the leaky bucket shapes, and steady traffic flows', async ({ page }) => {
      const own = card(page, 'Leaky bucket');
      await own.getByRole('button', { name: 'shaping' }).click();
      await expect(own.getByRole('button', { name: 'shaping' })).toHaveAttribute('aria-pressed', 'true');
      await own.getByRole('button', { name: 'Burst 10' }).click();
      await expect(own.locator('[data-outcome]')).toHaveAttribute('data-outcome', 'delayed');
      await expect(own).toContainText(/[5-9]\s+waiting/);
      await own.getByRole('button', { name: 'policing' }).click();
      await expect(own.getByRole('button', { name: 'policing' })).toHaveAttribute('aria-pressed', 'true');
      const fixed = card(page, 'Fixed window');
      const slider = fixed.getByRole('slider', { name: 'steady traffic' });
      await slider.fill('4');
      await expect(fixed).toContainText('5/s');
      await expect
        .poll(async () => Number(await fixed.locator('[data-most]').getAttribute('data-most')))
        .toBeGreaterThanOrEqual(5);
      await slider.fill('0');
      await expect(fixed).toContainText('off');
      // It stops: what is under way ends, and nothing follows.
      const log = card(page, 'Fixed window').getByRole('img');
      const sent = async () => (await log.getAttribute('aria-label')) ?? '';
      await expect(async () => {
        const before = await sent();
        await page.waitForTimeout(600);
        expect(await sent()).toBe(before);
      }).toPass();
    });

    // Goal: other numbers keep what was used; a mistake is told with its repair, and changes nothing.
    test('numbers are changed, and mistakes told', async ({ page }) => {
      const own = card(page, 'Token bucket');
      await own.getByText('Limit:').click();
      const field = own.getByRole('textbox');
      await own.getByRole('button', { name: 'Burst 10' }).click();
      await expect(own.getByRole('button', { name: 'Burst 10' })).toBeEnabled();
      await field.fill('1/second burst 50');
      await own.getByRole('button', { name: 'Change' }).click();
      await expect(own).toContainText(/What was used is kept\. \d+ of 10 left before, \d+ of 50 now/);
      await expect(own).toContainText(/4\d of 50 left/);
      await field.fill('ten a second');
      await own.getByRole('button', { name: 'Change' }).click();
      await expect(field).toHaveAttribute('aria-invalid', 'true');
      await expect(own).toContainText('The limit makes no sense');
      await own.getByRole('button', { name: 'Back to 1/second burst 10' }).click();
      await expect(own).toContainText(/What was used is kept\. \d+ of 50 left before/);
    });

    // Goal: a queue is drawn as it is from the first moment on, also when the page is opened in the middle of it.
    test('a queue is there again after a reload', async ({ page }) => {
      const own = card(page, 'Leaky bucket');
      await own.getByRole('button', { name: 'shaping' }).click();
      await expect(own.getByRole('button', { name: 'shaping' })).toHaveAttribute('aria-pressed', 'true');
      // Slow enough to be there for as long as this takes.
      await own.getByText('Limit:').click();
      await own.getByRole('textbox').fill('1/30s burst 10');
      await own.getByRole('button', { name: 'Change' }).click();
      await expect(own).toContainText('Limit: 1/30s burst 10');
      await own.getByRole('button', { name: 'Burst 10', exact: true }).click();
      await expect(own).toContainText(/[89]\s+waiting/);
      await page.reload();
      await expect(own).toContainText(/[5-9]\s+waiting/);
      await page.getByRole('link', { name: 'Keys' }).click();
      await page.getByRole('link', { name: 'Playground' }).click();
      await expect(own).toContainText(/[5-9]\s+waiting/);
      await own.getByRole('button', { name: 'policing' }).click();
      await expect(own).toContainText('Begun afresh');
    });

    // Goal: two tabs of a browser are one visitor; another browser is another.
    test('two tabs share counters, two visitors do not', async ({ page, context, browser, quiet }) => {
      await card(page, 'Fixed window').getByText('Limit:').click();
      const second = await context.newPage();
      await second.goto(`${server.url}/#playground`);
      await expect(left(second, 'Token bucket')).toHaveAttribute('data-left', '10');
      await card(page, 'Token bucket').getByRole('spinbutton', { name: 'cost' }).fill('9');
      await card(page, 'Token bucket').getByRole('button', { name: 'Send Request' }).click();
      await expect(left(second, 'Token bucket')).toHaveAttribute('data-left', /^[1-9]$/);
      await card(second, 'Fixed window').getByText('Limit:').click();
      await card(second, 'Fixed window').getByRole('textbox').fill('7/10s');
      await card(second, 'Fixed window').getByRole('button', { name: 'Change' }).click();
      await expect(card(page, 'Fixed window')).toContainText('7 of 7 left');
      const other = await (await browser.newContext()).newPage();
      await other.goto(`${server.url}/#playground`);
      watch(other, quiet);
      await expect(left(other, 'Token bucket')).toHaveAttribute('data-left', '10');
      await other.context().close();
      await second.close();
    });

    // Goal: nothing of this touched a rule, or was counted.
    test('production knows nothing of it', async ({ page }) => {
      for (const name of NAMES) {
        await card(page, name).getByRole('button', { name: 'Burst 10' }).click();
        await expect(card(page, name).locator('[data-most]')).not.toHaveAttribute('data-most', '0');
      }
      const top = await server.ask('/v1/top');
      expect([top.rules, top.keys, top.refused]).toEqual([[], [], []]);
      const metrics = await (await fetch(`${server.url}/metrics`)).text();
      expect(metrics).toContain('ratekeeper_build_info');
      expect(metrics).not.toContain('ratekeeper_decisions_total{');
      expect(metrics).toMatch(/^ratekeeper_keys 0$/m);
    });
  });
}
