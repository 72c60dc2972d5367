// Makes the pictures of README and docs: `npm run pictures` in console/, with the program built. They are of real
// servers under real traffic, so no two are the same; they are made when the page has changed.
import { mkdirSync } from 'node:fs';
import { card, test } from '../e2e/page';
import { RULES } from '../e2e/rules';
import { Server } from '../e2e/server';

const FOLDER = '../docs/images';

/** Some minutes of traffic, as many callers make it: asked for at once, told by the page as its last seconds. */
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

/** Seconds of traffic on the picture of the live page. */
const SECONDS = 240;

test.use({ viewport: { width: 1360, height: 1010 }, colorScheme: 'light' });
test.beforeAll(() => void mkdirSync(FOLDER, { recursive: true }));

test('the playground after a boundary burst', async ({ page }) => {
  const server = await Server.start();
  await page.goto(server.url);
  await page.getByRole('button', { name: 'Boundary burst' }).click();
  await page.getByText(/Around the edge/).waitFor({ timeout: 30_000 });
  await page.waitForTimeout(700);
  await page.screenshot({ path: `${FOLDER}/playground.png` });
  await server.stop();
});

test('the live page', async ({ page }) => {
  test.setTimeout((SECONDS + 60) * 1000);
  const shaping = 'limit: 2/second burst 20, algorithm: leaky_bucket, mode: shaping}';
  const server = await Server.start(RULES.replace('limit: 2/second burst 20}', shaping));
  await page.goto(server.url);
  await traffic(server, SECONDS);
  await page.screenshot({ path: `${FOLDER}/live.png` });
  await server.stop();
});
