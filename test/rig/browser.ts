/**
 * Debian's Chromium, driven by Playwright, for tests of the built pages. Only this file imports Playwright and axe. The
 * set-up installs the browser. Nothing is downloaded from elsewhere.
 */
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

export type { Browser, Locator, Page } from 'playwright-core';

const EXECUTABLE = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** Chromium's own sandbox does not run as root. The other flags stop Chromium's search for updates and similar requests. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts a browser without a window. Closing the browser ends its processes. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: EXECUTABLE, args: FLAGS });
}

/** An open page, with a record of its requests and troubles. Disposing closes the page and removes everything it stored. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  /** The addresses of all the page's requests, in order. The first is the page's own address. */
  readonly requests: readonly string[];
  /** Uncaught errors, dialogs, and errors in the console, such as violations of the page's policy. */
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
    // A browser reports a 404 as an error. Two answers may be 404: a proof comes after its job's end, and a canary may not exist.
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

/** The problems that axe finds in the page, one line for each: the rule, and the first element that breaks it. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes[0]?.html ?? ''}`);
}
