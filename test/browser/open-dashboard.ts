/** A running service's dashboard in Chromium, with somebody signed in. */
import { type Browser, type Locator, openPage, type Page, type WatchedPage } from '../rig/browser.ts';

/**
 * Options for the browser, such as its width, and the key to sign in with. Null: no key. Default: the key of `alpha`.
 */
type DashboardOptions = NonNullable<Parameters<typeof openPage>[2]> & { readonly key?: string | null };

/** Opens a view of the dashboard, such as `/jobs`. */
export async function openDashboard(
  browser: Browser,
  { url, view = '/jobs' }: { readonly url: string; readonly view?: string },
  { key = 'key-of-alpha', ...options }: DashboardOptions = {},
): Promise<WatchedPage> {
  const opened = await openPage(browser, `${url}/dashboard${view}`, options);
  if (key !== null) await signIn(opened, key);
  return opened;
}

/** Fills in the form that asks for a key. */
export async function signIn({ page }: Pick<WatchedPage, 'page'>, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** Opens a part of a job's page if it is folded. */
export async function openFold(page: Page, title: string): Promise<void> {
  const fold = page.getByRole('region', { name: title, exact: true }).locator('details').first();
  await fold.waitFor();
  if ((await fold.getAttribute('open')) === null) await page.locator(`[data-fold="${title}"]`).click();
}

/** Opens every part of a job's page. */
export async function openFolds(page: Page): Promise<void> {
  for (const head of await page.locator('[data-fold]').all())
    await openFold(page, (await head.getAttribute('data-fold')) ?? '');
}

/** Waits until a job's page has read the job's whole history. */
export async function historyRead(page: Page): Promise<void> {
  await page.locator('.output-tools').waitFor();
  await page.getByLabel(/^Connection: /).waitFor({ state: 'detached' });
}

/** Opens the folded options of the playground. */
export async function openOptions(page: Page): Promise<void> {
  const options = page.locator('.playground-options');
  await options.waitFor();
  if ((await options.getAttribute('open')) === null) await options.locator('summary').first().click();
}

/** Drops a file or directory from this machine onto an element, as a person does. */
export async function drop(onto: Locator, path: string): Promise<void> {
  await onto.scrollIntoViewIfNeeded();
  const box = await onto.boundingBox();
  const devtools = await onto.page().context().newCDPSession(onto.page());
  const place = { x: (box?.x ?? 0) + 5, y: (box?.y ?? 0) + 5 };
  const data = { items: [], files: [path], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await devtools.send('Input.dispatchDragEvent', { type, ...place, data });
}
