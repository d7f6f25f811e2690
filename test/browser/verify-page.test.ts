/** `verify.html` as it is built, in Chromium. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessibilityProblems, type Browser, openBrowser, openPage } from '../rig/browser.ts';

const file = new URL('../../packages/server/pages/verify-page/index.html', import.meta.url);
let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

test('the page works from a file, and asks for nothing else', async () => {
  await using opened = await openPage(browser, file.href);
  await expect.poll(() => opened.page.title()).toContain('Verify a result');
  expect(opened.requests).toEqual([file.href]);
  expect(opened.troubles).toEqual([]);
  expect(await accessibilityProblems(opened.page)).toEqual([]);
});
