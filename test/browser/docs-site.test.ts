/** The documents in Chromium: from the service, under its pages' policy, and as files from the disk. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityProblems, type Browser, openBrowser, openPage } from '../rig/browser.ts';
import { useRig } from '../rig/rig.ts';
import { openDashboard, signIn } from './open-dashboard.ts';

const files = pathToFileURL(join(import.meta.dirname, '../../packages/server/pages/docs-site/index.html')).href;
const rig = useRig();
let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

describe.each([
  ['of the service', () => `${rig().service.url}/docs`],
  ['as files', () => files],
] as const)('the documents %s', (_where, address) => {
  test('can be searched and opened by keyboard alone', async () => {
    await using opened = await openPage(browser, address());
    const { page } = opened;
    await page.keyboard.press('/');
    await page.keyboard.type('pin the key');
    await page.locator('#found li').first().waitFor();
    expect(await page.locator('#found a').first().textContent()).toBe('Verifying a result › Pin the key first');
    await page.keyboard.press('Enter');
    await page.waitForURL(/verifying\.html#pin-the-key-first$/);
    expect(await page.locator('h1').textContent()).toContain('Verifying a result');
    expect(await page.locator('nav [aria-current]').textContent()).toBe('Verifying');
    // The shown page is in a folder. A search result that leads to this page is opened without loading the page again.
    await page.fill('#search', 'with other tools');
    await page.locator('#found a', { hasText: '› With other tools' }).click();
    await page.waitForURL(/#with-other-tools$/);
    expect(await page.locator('article').isVisible()).toBe(true);
    await page.fill('#search', 'zzzzzzzz');
    expect(await page.locator('#found [role=status]').textContent()).toBe('Nothing was found.');
    await page.locator('#search').press('Escape');
    expect(await page.locator('article').isVisible()).toBe(true);
    expect(opened.troubles).toEqual([]);
  });

  test('answer a search for 4000 pasted words without hanging', async () => {
    await using opened = await openPage(browser, address());
    const { page } = opened;
    await page.keyboard.press('/');
    await page.keyboard.insertText('a '.repeat(4000));
    await page.locator('#found [role=status]').waitFor();
    expect(opened.troubles).toEqual([]);
  });

  test('show their drawings', async () => {
    await using opened = await openPage(browser, address());
    const { page } = opened;
    await page.locator('nav a', { hasText: 'How it works' }).click();
    await page.locator('h1', { hasText: 'How it works' }).waitFor();
    const widths = page
      .locator('article img')
      .evaluateAll((all) => all.map((img) => (img as HTMLImageElement).naturalWidth));
    await expect.poll(() => widths).toEqual([860, 860, 860, 860]);
    expect(opened.troubles).toEqual([]);
  });
});

test('the page that verifies links to the documents, and so does the dashboard before and after the sign-in', async () => {
  const { url } = rig().service;
  await using dashboard = await openDashboard(browser, { url }, { key: null });
  const link = dashboard.page.getByRole('link', { name: 'Documents' });
  expect(await link.getAttribute('href')).toBe('/docs');
  await signIn(dashboard, rig().alpha.key);
  await dashboard.page.getByRole('heading', { name: 'Jobs' }).waitFor();
  const [beside] = await Promise.all([dashboard.page.waitForEvent('popup'), link.click()]);
  await beside.getByRole('searchbox', { name: 'Search the documents' }).waitFor();
  expect(await dashboard.page.getByRole('heading', { name: 'Jobs' }).isVisible()).toBe(true);
  await using verify = await openPage(browser, `${url}/verify`);
  await verify.page.getByRole('link', { name: 'Documents' }).click();
  await verify.page.getByRole('searchbox', { name: 'Search the documents' }).waitFor();
  expect([dashboard.troubles, verify.troubles]).toEqual([[], []]);
});

test.each([
  ['light', 1280],
  ['dark', 390],
] as const)(
  'the documents have no accessibility fault and fit the screen, in %s colours, %d pixels wide',
  async (colorScheme, width) => {
    const { url } = rig().service;
    await using opened = await openPage(browser, `${url}/docs`, { colorScheme, viewport: { width, height: 800 } });
    const { page } = opened;
    for (const path of ['docs', 'docs/how-it-works.html', 'docs/why.html', 'docs/command.html']) {
      await page.goto(`${url}/${path}`);
      expect([path, await accessibilityProblems(page)]).toEqual([path, []]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    }
    await page.fill('#search', 'key');
    await page.locator('#found li').first().waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(
      opened.requests.filter((request) => !request.startsWith(`${url}/docs`) && !request.startsWith('data:')),
    ).toEqual([]);
    expect(opened.troubles).toEqual([]);
  },
);

test("a browser that opens the service's own address gets a page that links to the documents", async () => {
  await using opened = await openPage(browser, rig().service.url, { viewport: { width: 360, height: 740 } });
  const { page } = opened;
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(await page.evaluate(() => getComputedStyle(document.body).maxWidth)).toBe('576px');
  await page.locator('a', { hasText: 'Documents' }).click();
  await page.waitForURL(/\/docs$/);
  expect(opened.troubles).toEqual([]);
});
