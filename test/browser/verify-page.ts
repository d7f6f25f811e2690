/** Uses `verify.html` as a person does: gives it files and a key, and reads what the page shows. */
import type { Locator, Page } from '../rig/browser.ts';
import { zipOf } from './archives.ts';

/** The address of the built page's file, which needs no service. */
export const verifyPage = new URL('../../packages/server/pages/verify-page/index.html', import.meta.url);

export type Verdict = 'good' | 'whole' | 'unchecked' | 'incomplete' | 'no-key' | 'unsigned' | 'refused';

/** Gives the page an export as a zip archive. */
export async function giveExport(page: Page, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  await giveFile(page, 'job.zip', zipOf(files));
}

/** Gives the page one file through the file chooser. */
export async function giveFile(page: Page, name: string, buffer: Buffer): Promise<void> {
  await page.setInputFiles('#choose-files', { name, mimeType: 'application/octet-stream', buffer });
}

/** Opens the part for keys. The page closes this part whenever it accepts a key. */
export async function openKeys(page: Page): Promise<void> {
  const part = page.locator('#key-part');
  if ((await part.getAttribute('open')) === null) await part.locator('summary').first().click();
}

/** Types the key. */
export async function giveKey(page: Page, key: string): Promise<void> {
  await openKeys(page);
  await page.fill('#key', key);
}

/** The text of an element and of everything inside it. */
export async function textOf(element: Locator): Promise<string> {
  return (await element.textContent()) ?? '';
}

/** Waits for this verdict and returns the banner's words. */
export async function verdictOf(page: Page, verdict: Verdict): Promise<string> {
  const banner = page.locator(`#report:not([aria-busy]) > #verdict.${verdict}`);
  await banner.waitFor();
  return textOf(banner);
}

/** Waits until the page reports a problem with the given files, and returns the report's text. */
export async function problemOf(page: Page): Promise<string> {
  const note = page.locator('#files-note.problem');
  await note.waitFor();
  return textOf(note);
}
