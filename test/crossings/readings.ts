/** Facts about a job that a service shows apart from the job. A place may read them in its own way or with this file. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { historyRead, openDashboard, openFolds } from '../browser/open-dashboard.ts';
import { giveKey, verdictOf } from '../browser/verify-page.ts';
import { openBrowser, openPage, type Page } from '../rig/browser.ts';
import type { Crossing } from './crossing.ts';
import type { Facts, Seen } from './facts.ts';

/** The name of a fact. A scenario reads the fact if the name of its act is the name of the fact. */
export type Reading = 'evidence' | 'listed' | 'counted';

export type Readings = { readonly [Fact in Reading]: (crossing: Crossing, job_id: string) => Promise<Facts[Fact]> };

const READINGS: Readings = {
  evidence: async (crossing, job_id) => outputIn(await enclosed(crossing, job_id)),
  listed: async ({ otherClient }, job_id) => {
    const jobs = await Array.fromAsync(otherClient.listAll({ limit: 200 }));
    return jobs.find((job) => job.job_id === job_id)?.first_line ?? '';
  },
  counted: async (crossing) => {
    const nodes = new Set([crossing.service.url, crossing.service.otherUrl]);
    const clients = [...nodes].map((url) => crossing.service.client(crossing.tenant, url));
    return await counted(crossing, async () => await Promise.all(clients.map((client) => client.status())));
  },
};

/** Reads the fact that the scenario's act names, and adds it to `seen`. Returns `seen` unchanged if the act is no `Reading`. */
export async function withReading(crossing: Crossing, seen: Seen, readings: Partial<Readings> = {}): Promise<Seen> {
  const { act } = crossing.scenario;
  if (!isReading(act)) return seen;
  const read = readings[act] ?? READINGS[act];
  return { ...seen, [act]: await read(crossing, await crossing.job()) };
}

function isReading(act: string): act is Reading {
  return act in READINGS;
}

/** Waits until a node has counted a failed job. The node does this once the job's end is stored. */
export async function counted(
  crossing: Crossing,
  read: () => Promise<readonly { readonly last_hour?: { readonly ended: { readonly failed: readonly number[] } } }[]>,
): Promise<number> {
  return await crossing.until('no node counted the job', async () => {
    const counts = (await read()).flatMap(({ last_hour }) => last_hour?.ended.failed ?? []);
    return counts.reduce((total, count) => total + count, 0) || null;
  });
}

/** In the dashboard, checks the signature against the key that signed. */
export async function checked(page: Page, signer: string): Promise<void> {
  await page.getByLabel('Public key to pin').fill(signer);
  await page.getByRole('button', { name: 'Pin this key' }).click();
  await page.getByText('A pinned key signed this result as it is here.').waitFor();
}

/** Unpacks the export from the page that the dashboard saves. The page opens from the disk, and must send no request. */
export async function enclosed(crossing: Crossing, job_id: string): Promise<string> {
  const { directory, key, service } = crossing;
  await crossing.signed(job_id);
  await using browser = await openBrowser();
  const saved = async (page: Page, button: string, file: string) => {
    const clicked = page.getByRole('button', { name: button, exact: true }).click();
    const [download] = await Promise.all([page.waitForEvent('download'), clicked]);
    await download.saveAs(join(directory, file));
    return join(directory, file);
  };
  await using dashboard = await openDashboard(browser, { url: service.otherUrl, view: `/jobs/${job_id}` }, { key });
  // The service's first key signed the job. After a rotation, the page offers the evidence only if that key is pinned.
  const signer = service.publicKeys[0] ?? '';
  await historyRead(dashboard.page);
  await openFolds(dashboard.page);
  await checked(dashboard.page, signer);
  const address = pathToFileURL(await saved(dashboard.page, 'Save as a page', 'evidence.html')).href;
  await using opened = await openPage(browser, address);
  await verdictOf(opened.page, 'whole');
  await giveKey(opened.page, signer);
  await verdictOf(opened.page, 'good');
  const unpacked = join(directory, 'enclosed');
  const archive = await saved(opened.page, 'Download export.zip', 'enclosed.zip');
  execFileSync('python3', ['-m', 'zipfile', '-e', archive, unpacked]);
  const asked = opened.requests.filter((one) => one !== address && !one.startsWith('blob:'));
  const troubles = [...dashboard.troubles, ...opened.troubles, ...asked];
  if (troubles.length > 0) throw new Error(`the pages had trouble: ${troubles.join('; ').slice(0, 300)}`);
  return join(unpacked, job_id);
}

export function outputIn(directory: string): string {
  return (JSON.parse(readFileSync(join(directory, 'result.json'), 'utf8')) as Pick<Facts, 'stdout'>).stdout;
}
