/**
 * Debian's Chromium, driven by Playwright, for tests of the built pages. The only file that imports Playwright and axe.
 * The set-up installs the browser; nothing is downloaded from elsewhere.
 */
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

export type { Browser, Locator, Page } from 'playwright-core';

const EXECUTABLE = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** Chromium's own sandbox does not run as root; the other flags keep it from looking for updates and the like. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts a browser without a window. Closing it ends its processes. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: EXECUTABLE, args: FLAGS });
}

/** An open page, and what it did that a test may want to know. Disposing closes it with all that it stored. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  /** Addresses of everything that the page asked for, in order, its own first. */
  readonly requests: readonly string[];
  /** Uncaught errors, errors in the console, refusals of its policy among them, and dialogs. */
  readonly troubles: readonly string[];
}

/** Opens an address in a fresh profile. */
export async function openPage(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const requests: string[] = [];
  const troubles: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => troubles.push(error.message));
  page.on('console', (message) => {
    const { url } = message.location();
    // A browser says of every 404 that it failed. The log has a job a moment after its end, and some jobs name no canary.
    const isAnswer = /\/(log-proof|canary)$/.test(url) && message.text().includes('404');
    if (message.type() === 'error' && !isAnswer) troubles.push(`${message.text()} ${url}`);
  });
  page.on('dialog', (dialog) => {
    troubles.push(`a dialog says ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(address);
  return { page, requests, troubles, [Symbol.asyncDispose]: () => context.close() };
}

/** What axe finds wrong with the page as it stands, a line each: the rule, and the first element that breaks it. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes[0]?.html ?? ''}`);
}
