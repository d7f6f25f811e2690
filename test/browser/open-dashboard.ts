/** The dashboard of a running service, in Chromium, with somebody signed in. */
import { type Browser, openPage, type WatchedPage } from '../rig/browser.ts';

/**
 * How the browser is set up, such as its width, and the key to sign in with: null for none, by default that of `alpha`.
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
