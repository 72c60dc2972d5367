// Makes the pictures of README and docs: `npm run pictures` in console/, with the program built. They are of real
// servers under real traffic, so no two are the same; they are made when the page has changed.
import { mkdirSync, writeFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { expect, test } from '../e2e/page';
import { RULES } from '../e2e/rules';
import { Server } from '../e2e/server';

const FOLDER = '../docs/images';

/** Traffic as many callers make it. */
async function traffic(server: Server, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    const many = 14 + Math.round(9 * Math.sin(second / 9) + 5 * Math.random());
    const batch = Array.from({ length: many }, (_, at) => {
      const caller = Math.floor(12 * Math.random() ** 2);
      if (at % 5 === 0) return { rule: 'login', key: `192.0.2.${caller}` };
      if (at % 7 === 0) return { rule: 'partner', key: [`partner-${caller % 3}`, 'GET'] };
      return {
        request: { method: 'GET', path: at % 3 ? '/api/orders' : '/search', ip: `198.51.100.${caller}` },
      };
    });
    await server.ask('/v1/check', batch);
    await new Promise((done) => setTimeout(done, 1000));
  }
}

/** Seconds of traffic on the picture of the live page: all that it shows. */
const SECONDS = 900;

/** As small as a picture with small letters can be. */
async function shoot(page: Page, name: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 82 });
  writeFileSync(`${FOLDER}/${name}.webp`, Buffer.from(data, 'base64'));
}

test.use({ colorScheme: 'light' });
test.beforeAll(() => void mkdirSync(FOLDER, { recursive: true }));

test('the playground after a boundary burst', async ({ page }) => {
  // As wide as all cards are beside each other.
  await page.setViewportSize({ width: 1800, height: 900 });
  const server = await Server.start();
  await page.goto(server.url);
  // The edge can be missed; then it says so.
  await expect(async () => {
    await page.getByRole('button', { name: 'Boundary burst' }).click();
    await page.getByText(/fixed window let 20 pass/).waitFor({ timeout: 15_000 });
  }).toPass({ timeout: 50_000 });
  await page.waitForTimeout(700);
  await shoot(page, 'playground');
  await server.stop();
});

test('the live page', async ({ page }) => {
  test.setTimeout((SECONDS + 60) * 1000);
  await page.setViewportSize({ width: 1360, height: 1010 });
  const shaping = 'limit: 2/second burst 20, algorithm: leaky_bucket, mode: shaping}';
  const server = await Server.start(RULES.replace('limit: 2/second burst 20}', shaping));
  await page.goto(server.url);
  await traffic(server, SECONDS);
  await shoot(page, 'live');
  await server.stop();
});
