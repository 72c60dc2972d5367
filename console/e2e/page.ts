// What the tests share of a page: a look at its errors, its cards, and its accessibility.
import AxeBuilder from '@axe-core/playwright';
import { expect, type Locator, type Page, test as base } from '@playwright/test';

/** A page that fails its test if it reports an error, or asks another server for anything. */
export const test = base.extend<{ quiet: string[] }>({
  quiet: [
    async ({ page }, use) => {
      const wrong: string[] = [];
      watch(page, wrong);
      await use(wrong);
      expect(wrong, 'the page reported errors').toEqual([]);
    },
    { auto: true },
  ],
});

export function watch(page: Page, wrong: string[]): void {
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('console', (message) => {
    // A status that is expected, and a server that was stopped on purpose, are told by the browser, too.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text()))
      wrong.push(message.text());
  });
  page.on('request', (request) => {
    const host = new URL(request.url()).hostname;
    if (host !== '127.0.0.1') wrong.push(`asked ${request.url()}`);
  });
}

export const card = (page: Page, name: string): Locator => page.getByRole('article', { name });

/** What a card has left, as `data-left`: a text of it may be a part of another. */
export const left = (page: Page, name: string): Locator => card(page, name).locator('[data-left]');

export const NAMES = [
  'Fixed window',
  'Sliding window log',
  'Sliding window counter',
  'Token bucket',
  'Leaky bucket',
];

/** Nothing that axe finds, in the theme that there is. */
export async function isAccessible(page: Page): Promise<void> {
  const found = await new AxeBuilder({ page }).analyze();
  const told = found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(' | ')}`);
  expect(told).toEqual([]);
}

/** Nothing is wider than the window, and nothing spills out of its box, or out of the row of pages. */
export async function fits(page: Page): Promise<void> {
  const [wide, room] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  expect(wide).toBeLessThanOrEqual(room ?? 0);
  const spilt = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('nav, main :not(svg *)')]
      .filter((box) => {
        const style = getComputedStyle(box);
        const isBox = style.display !== 'inline' && box.clientWidth > 1;
        const isOpen = style.overflowX === 'visible' || box.localName === 'nav';
        return isBox && isOpen && box.scrollWidth > box.clientWidth + 1;
      })
      .map((box) => `${box.outerHTML.slice(0, 120)}: ${box.scrollWidth} in ${box.clientWidth}`),
  );
  expect.soft(spilt).toEqual([]);
}

export { expect };
