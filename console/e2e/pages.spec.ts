// Live, keys, decisions and rules, against a real server.
import { expect, isAccessible, test } from './page';
import { RULES } from './rules';
import { Server } from './server';

let server: Server;

test.beforeEach(async () => {
  server = await Server.start(RULES);
});

test.afterEach(async () => {
  await server.stop();
});

// Goal: the figures are the server's: what happened before the page was opened, and what happens after.
test('live shows what happens, and what has happened', async ({ page }) => {
  await server.check('api', 'alice', 14);
  await page.goto(server.url);
  // Without the demo rules, this is what it opens on.
  await expect(page).toHaveTitle('Live · Ratekeeper');
  const now = page.getByRole('region', { name: 'Now' });
  await expect(now).toContainText('10 in 15 min');
  await expect(now).toContainText('4 in 15 min');
  const rules = page.getByRole('region', { name: 'Rules' });
  await expect(rules).toContainText('api');
  await server.check('login', '192.0.2.1', 3);
  await expect(rules).toContainText('login');
  await expect(now).toContainText('13 in 15 min');
  await expect(page.getByRole('region', { name: 'Store, memory and release' })).toContainText('No. 1');
  for (const region of ['Now', 'Decisions per second', 'Rules', 'Busiest keys']) {
    await expect(page.getByRole('region', { name: region }).getByText('this node').first()).toBeVisible();
  }
  await page.getByRole('button', { name: 'Pause' }).click();
  await server.check('login', '192.0.2.2', 2);
  // Two more events of the stream, none of which may show.
  await page.waitForTimeout(2500);
  await expect(now).toContainText('13 in 15 min');
  await page.getByRole('button', { name: 'Go on' }).click();
  await expect(now).toContainText('15 in 15 min');
});

// Goal: from who suffers to another limit, in the row; and back to the beginning for one key.
test('a key is reset and overridden from its row', async ({ page }) => {
  await server.check('api', 'alice', 14);
  await page.goto(`${server.url}/#live`);
  const refused = page.getByRole('region', { name: 'Most refused keys' });
  await refused.getByRole('button', { name: 'Reset alice under api' }).click();
  await expect.poll(async () => (await server.ask('/v1/keys?rule=api&key=alice')).remaining).toBe(10);
  await refused.getByRole('button', { name: /^Override this key: alice/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Override this key' });
  await dialog.getByLabel('Limit').fill('a lot');
  await dialog.getByRole('button', { name: 'Set the override' }).click();
  await expect(dialog.getByRole('alert')).toContainText('a lot');
  await isAccessible(page);
  await dialog.getByLabel('Limit').fill('500/minute');
  await dialog.getByLabel(/Reason/).fill('migration');
  await dialog.getByRole('button', { name: 'Set the override' }).click();
  await expect(dialog).toBeHidden();
  const left = await server.ask('/v1/keys?rule=api&key=alice');
  expect([left.limit, left.version]).toEqual([500, 2]);
  await page.goto(`${server.url}/#keys?key=alice`);
  await expect(
    page.getByText('500 of 500 left').or(page.getByText('rules it has not used')).first(),
  ).toBeVisible();
  await page.getByRole('button', { name: 'Take back the override of alice under api' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Take back' }).click();
  await expect.poll(async () => (await server.ask('/v1/keys?rule=api&key=alice')).limit).toBe(10);
});

// Goal: one caller, all its buckets, and the exact times of its log.
test('keys finds a caller', async ({ page }) => {
  await server.check('api', '192.0.2.7', 3);
  await server.check('login', '192.0.2.7', 2);
  await server.check('partner', ['192.0.2.7', 'GET'], 4);
  await page.goto(`${server.url}/#keys`);
  await page.getByRole('search').getByLabel('Key').fill('192.0.2.7');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/#keys\?key=192\.0\.2\.7/);
  await expect(page.getByText(/[78] of 10 left/)).toBeVisible();
  await expect(page.getByText('3 of 5 left')).toBeVisible();
  await expect(page.getByText('192.0.2.7 · GET').first()).toBeVisible();
  await page.getByRole('button', { name: 'Log of login' }).click();
  await expect(page.getByRole('dialog').getByRole('row')).toHaveCount(3);
  await isAccessible(page);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Reset login' }).click();
  await expect.poll(async () => (await server.ask('/v1/keys?rule=login&key=192.0.2.7')).remaining).toBe(5);
});

// Goal: the id of a refusal says why; the key is hidden until it is asked for.
test('decisions says why', async ({ page }) => {
  const refused = await server.check('api', 'alice-the-caller', 11);
  expect(refused.allowed).toBe(false);
  await page.goto(`${server.url}/#decisions`);
  await page.getByRole('textbox').fill(refused.id);
  await page.getByRole('button', { name: 'Why?' }).click();
  const why = page.getByRole('region', { name: /Why it was refused/ });
  await expect(why).toContainText('api');
  await expect(why).toContainText('a call to the API');
  await expect(why).not.toContainText('alice-the-caller');
  await why.getByRole('button', { name: 'Show' }).first().click();
  await expect(why).toContainText('alice-the-caller');
  await page.getByRole('textbox').fill('01NOSUCHDECISION');
  await page.getByRole('button', { name: 'Why?' }).click();
  await expect(page.getByText(/there is no such refusal/)).toBeVisible();
});

// Goal: a mistake is shown at its line while it is typed; a rule is changed, applied after a look at the difference,
// and restored.
test('a rule is edited, applied and restored', async ({ page }) => {
  await page.goto(`${server.url}/#rules`);
  const text = page.getByLabel('The text of the rules');
  await expect(text).toHaveValue(RULES);
  await text.fill(RULES.replace('5/minute', '0/minute'));
  const faults = page.getByRole('list', { name: 'Faults' });
  await expect(faults).toContainText('line 5');
  await expect(faults).toContainText('deny: true');
  await isAccessible(page);
  await expect(page.getByRole('button', { name: 'Review and apply' })).toBeDisabled();
  await text.fill(RULES.replace('5/minute', '7/minute'));
  await expect(faults).toBeHidden();
  await page.getByRole('button', { name: 'Review and apply' }).click();
  const review = page.getByRole('dialog');
  await expect(review).toContainText('5/minute');
  await expect(review).toContainText('7/minute');
  await isAccessible(page);
  await review.getByRole('button', { name: 'Apply' }).click();
  await expect(page.getByText(/release 2 decides/i).first()).toBeVisible();
  await expect(text).toBeFocused();
  expect((await server.ask('/v1/keys?rule=login&key=192.0.2.7')).limit).toBe(7);
  await page.getByRole('button', { name: 'Restore release 1' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
  await expect.poll(async () => (await server.ask('/v1/keys?rule=login&key=192.0.2.7')).limit).toBe(5);
  await expect(text).toHaveValue(RULES);
});

// Goal: what shadow would refuse is told, and a step of the roll-out is a release.
test('a rule is rolled out by steps', async ({ page }) => {
  for (const ip of ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.1']) {
    await server.ask('/v1/check', { request: { method: 'GET', path: '/search', ip } });
  }
  await page.goto(`${server.url}/#rules`);
  await expect(page.getByText('would refuse 1 caller, 33 %')).toBeVisible();
  const steps = page.getByRole('radiogroup', { name: 'Roll-out of search' });
  await expect(steps.getByRole('radio', { name: 'shadow' })).toBeChecked();
  await steps.getByRole('radio', { name: '100 %' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Set to 100 %' }).click();
  await expect(steps.getByRole('radio', { name: '100 %' })).toBeChecked();
  const again = { request: { method: 'GET', path: '/search', ip: '192.0.2.1' } };
  expect((await server.ask('/v1/check', again)).allowed).toBe(false);
});

// Goal: a switch stands above it, at once, and is turned back; explain says which rules a request meets.
test('a switch is turned and turned back; a request is explained', async ({ page }) => {
  await page.goto(`${server.url}/#rules`);
  await page.getByRole('button', { name: 'Turn a switch' }).click();
  const dialog = page.getByRole('dialog');
  await isAccessible(page);
  await dialog.getByLabel(/Rule/).first().fill('login');
  await dialog.getByRole('button', { name: 'Turn', exact: true }).click();
  await expect.poll(async () => (await server.ask('/v1/switches')).switches.length).toBe(1);
  await page.getByRole('button', { name: 'Turn back login' }).click();
  await expect.poll(async () => (await server.ask('/v1/switches')).switches.length).toBe(0);
  const explain = page.getByRole('region', { name: 'Explain a request' });
  await explain.getByLabel('Path').fill('/api/orders');
  await explain.getByRole('button', { name: 'Explain' }).click();
  await expect(explain).toContainText('10 of 10 left');
});

// Goal: who is counted by something else than its name says is reset and overridden as what it is.
// Method: an address that stands in for a user, refused, then given a limit of its own from its row.
test('a row acts on what the key is', async ({ page }) => {
  const request = { request: { method: 'GET', path: '/partner/x', ip: '192.0.2.7' } };
  for (let sent = 0; sent < 30; sent += 1) await server.ask('/v1/check', { ...request, cost: 20 });
  await page.goto(`${server.url}/#live`);
  const refused = page.getByRole('region', { name: 'Most refused keys' });
  await refused.getByRole('button', { name: /^Override this key: 192\.0\.2\.7/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Override this key' });
  await dialog.getByLabel('Limit').fill('100000/hour');
  await dialog.getByRole('button', { name: 'Set the override' }).click();
  await expect(dialog).toBeHidden();
  expect((await server.ask('/v1/check', request)).limit).toBe(100000);
});

// Goal: a step from a release that is no longer live undoes nothing that others did.
// Method: choose a step, change another rule by a call, confirm the step.
test('a step does not undo what others did', async ({ page }) => {
  await page.goto(`${server.url}/#rules`);
  const steps = page.getByRole('radiogroup', { name: 'Roll-out of search' });
  await steps.getByRole('radio', { name: '50 %' }).click();
  const rule = { id: 'search', match: { path: '/search' }, key: 'ip', limit: '7/minute', rollout: 'shadow' };
  await server.ask('/v1/rules/search', rule, 'PUT');
  // The page has seen it before the step is confirmed.
  await expect(page.getByRole('heading', { name: 'Release 2 decides' })).toBeAttached({ timeout: 15_000 });
  await page.getByRole('dialog').getByRole('button', { name: 'Set to 50 %' }).click();
  await expect(page.getByRole('dialog').getByRole('alert')).toContainText(
    'Another release was made meanwhile',
  );
  expect((await server.ask('/v1/keys?rule=search&key=192.0.2.1')).limit).toBe(7);
});
