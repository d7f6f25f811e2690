/** The dashboard saves a job's evidence: as the files that the command exports, or as a page for a stranger. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sha256Hex } from '@vouchbox/evidence';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessibilityProblems, type Browser, openBrowser, openPage, type Page } from '../rig/browser.ts';
import { vouchbox } from '../rig/command.ts';
import { useRig } from '../rig/rig.ts';
import { openDashboard } from './open-dashboard.ts';
import { giveKey, textOf, verdictOf } from './verify-page.ts';

const rig = useRig({ 'attestation-mode': 'on' });
let browser: Browser;
let scratch: string;

beforeAll(async () => {
  browser = await openBrowser();
  scratch = mkdtempSync(join(tmpdir(), 'vouchbox-evidence-'));
});
afterAll(async () => {
  rmSync(scratch, { recursive: true });
  await browser.close();
});

/** Runs a job that gets files in every possible way and writes outputs. */
async function runJob(): Promise<string> {
  const { client } = rig().alpha;
  const { blob } = await client.upload(new Uint8Array(3_000_000).fill(7));
  const made = await rig().run({ language: 'bash', code: 'echo made > output/made', outputs: ['output/made'] });
  const { job_id } = await rig().run({
    language: 'bash',
    code: 'cat; cat input/made; cp input/large output/large; echo ü > output/small',
    stdin: 'read',
    args: ['one'],
    files: [
      { path: 'input/large', blob },
      { path: 'input/made', from: { job_id: made.job_id, path: 'output/made' } },
    ],
    outputs: ['output/small'],
    large_outputs: { paths: ['output/large'] },
  });
  return job_id;
}

/** Every file below a directory, keyed by its path within the directory. */
function filesBelow(directory: string): Map<string, string> {
  const paths = globSync('**', { cwd: directory }).filter((path) => statSync(join(directory, path)).isFile());
  return new Map(paths.sort().map((path) => [path, sha256Hex(readFileSync(join(directory, path)))]));
}

/** The file that a job's page saves. */
async function saved(page: Page, button: string): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button, exact: true }).click(),
  ]);
  const file = join(scratch, download.suggestedFilename());
  copyFileSync(await download.path(), file);
  return file;
}

test("the saved zip has exactly the files that the command exports, byte for byte, whatever the job's input and output", async () => {
  const job_id = await runJob();
  await using opened = await openDashboard(browser, { url: rig().service.url, view: `/jobs/${job_id}` });
  const { page, troubles } = opened;
  await page.getByRole('button', { name: 'Hand it on' }).click();
  const unpacked = join(scratch, 'unpacked');
  execFileSync('python3', ['-m', 'zipfile', '-e', await saved(page, 'Save as a zip'), unpacked]);
  const access = ['--url', rig().service.url, '--key', rig().alpha.key];
  const directory = join(scratch, 'by-command');
  expect(await vouchbox(['export', job_id, '--output', directory, ...access])).toMatchObject({ code: 0 });
  const exported = filesBelow(join(unpacked, job_id));
  expect(exported).toEqual(filesBelow(directory));
  expect([...exported.keys()]).toEqual(expect.arrayContaining(['code', 'input/large', 'output/large', 'output/small']));
  await page.getByLabel('With the program, its input and its files').uncheck();
  const alone = join(scratch, 'alone');
  execFileSync('python3', ['-m', 'zipfile', '-e', await saved(page, 'Save as a zip'), alone]);
  expect([...filesBelow(join(alone, job_id)).keys()]).not.toContain('code');
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(troubles).toEqual([]);
});

test('the saved page begins with the service’s page, opens from a disk, and trusts no enclosed key', async () => {
  const job_id = await runJob();
  const { public_key_pem } = await rig().alpha.client.publicKey();
  await using dashboard = await openDashboard(browser, { url: rig().service.url, view: `/jobs/${job_id}` });
  await dashboard.page.getByRole('button', { name: 'Hand it on' }).click();
  const file = await saved(dashboard.page, 'Save as a page');
  expect(file).toBe(join(scratch, `${job_id}.html`));
  const served = readFileSync(join(import.meta.dirname, '../../packages/server/pages/verify-page/index.html'));
  expect(readFileSync(file).subarray(0, served.length).equals(served)).toBe(true);
  await using opened = await openPage(browser, pathToFileURL(file).href);
  const { page } = opened;
  expect(await verdictOf(page, 'whole')).toMatch(/^CONSISTENT, signer not checked/);
  const told = await textOf(page.locator('#enclosed'));
  expect(told).toContain(sha256Hex(served));
  expect(told).toContain('service-verify directory');
  expect(await accessibilityProblems(page)).toEqual([]);
  await giveKey(page, public_key_pem);
  expect(await verdictOf(page, 'good')).toContain(job_id);
  expect(await page.locator('.check.failed').count()).toBe(0);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download export.zip' }).click(),
  ]);
  const unpacked = join(scratch, 'from-page');
  execFileSync('python3', ['-m', 'zipfile', '-e', await download.path(), unpacked]);
  expect(filesBelow(join(unpacked, job_id)).size).toBeGreaterThan(9);
  expect(opened.requests.filter((address) => !address.startsWith('blob:'))).toEqual([pathToFileURL(file).href]);
  expect(opened.troubles).toEqual([]);
});

test('text that a forger appends to the saved page shows no verdict, leads nowhere and sends no request', async () => {
  const served = readFileSync(join(import.meta.dirname, '../../packages/server/pages/verify-page/index.html'));
  const forgeries = [
    '<html data-verdict="good"><body class="dragging"><section id="verdict" class="good"><h2>Signed, and unchanged</h2></section>',
    '</plaintext></script></body></html><meta http-equiv="refresh" content="0;url=hostile.html">',
    `<script id="export" type="application/zip">${'A'.repeat(64)}</script><svg width="900" height="900"><text>Signed, and unchanged</text></svg>`,
    '<iframe srcdoc="Signed, and unchanged"></iframe><a href="hostile.html" autofocus>Signed, and unchanged</a>',
  ];
  for (const [number, forgery] of forgeries.entries()) {
    const file = join(scratch, `forged-${number}.html`);
    writeFileSync(file, Buffer.concat([served, Buffer.from(forgery)]));
    await using opened = await openPage(browser, pathToFileURL(file).href);
    const { page } = opened;
    await page.getByRole('heading', { name: 'The result in this page is damaged' }).waitFor();
    const strange = page.locator('#verdict, meta[http-equiv=refresh], [data-verdict], [autofocus], iframe, body > svg');
    expect([forgery, await strange.count()]).toEqual([forgery, 0]);
    expect(await page.getByText('Signed, and unchanged').filter({ visible: true }).count()).toBe(0);
    expect(opened.requests.filter((address) => !address.startsWith('blob:'))).toEqual([pathToFileURL(file).href]);
    expect(opened.troubles).toEqual([]);
  }
});

test('a saved page that was cut off or changed anywhere reports this instead of a verdict', async () => {
  const job_id = await runJob();
  await using dashboard = await openDashboard(browser, { url: rig().service.url, view: `/jobs/${job_id}` });
  await dashboard.page.getByRole('button', { name: 'Hand it on' }).click();
  const whole = readFileSync(await saved(dashboard.page, 'Save as a page'));
  const pageEnd = whole.indexOf('<plaintext');
  const changed = Buffer.from(whole);
  changed.fill('!', whole.length - 200, whole.length - 190);
  const damaged = {
    'cut off in the result': whole.subarray(0, whole.length - 5000),
    'cut off in its first kilobyte': whole.subarray(0, pageEnd + 1200),
    'changed to what is no base64': changed,
  };
  const notRunning = { 'cut off in its script': whole.subarray(0, pageEnd - 5000) };
  for (const [what, bytes] of Object.entries({ ...damaged, ...notRunning })) {
    const file = join(scratch, `${what}.html`);
    writeFileSync(file, bytes);
    await using opened = await openPage(browser, pathToFileURL(file).href);
    const told = what in damaged ? '#damaged' : '#not-running';
    await opened.page.locator(told).waitFor();
    expect([what, await opened.page.locator(told).textContent()]).toEqual([
      what,
      expect.stringMatching(/Get\s+the file again/),
    ]);
    expect([what, await accessibilityProblems(opened.page)]).toEqual([what, []]);
  }
});

test('if the operator allows no links, a page can be saved or the address copied, and no form offers a link', async () => {
  const job_id = await runJob();
  await using opened = await openDashboard(browser, { url: rig().service.url, view: `/jobs/${job_id}` });
  const { page } = opened;
  await page.getByRole('button', { name: 'Hand it on' }).click();
  await page.getByText('The operator of this service allows no links.').waitFor();
  await page.getByRole('button', { name: 'Save as a page' }).waitFor();
  await page.getByRole('button', { name: 'Copy address' }).waitFor();
  expect(await page.getByRole('button', { name: 'Make a link' }).count()).toBe(0);
  expect(opened.troubles).toEqual([]);
});
