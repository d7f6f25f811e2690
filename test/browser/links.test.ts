/** What the receiver of a link sees: a running service's page `/links/{link}`, in Chromium. Spec § Links. */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { JobSubmission, LinkPart } from '@vouchbox/protocol';
import { openCredentials } from '@vouchbox/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityProblems, type Browser, openBrowser, openPage, type Page } from '../rig/browser.ts';
import { useRig } from '../rig/rig.ts';
import { callingPython, openCalls } from '../rig/tool-programs.ts';
import { HOSTILE_TEXTS } from './hostile-text.ts';
import { openDashboard, openFold } from './open-dashboard.ts';
import { giveKey, textOf, verdictOf } from './verify-page.ts';

const rig = useRig({ 'attestation-mode': 'on', links: 'on' });
let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

const PROGRAM: JobSubmission = {
  language: 'bash',
  code: 'cat; cat input/given.txt; echo to-stderr >&2; echo left >output/left.txt; echo large >output/large.bin; exit 3',
  stdin: 'went in\n',
  args: ['an argument'],
  env: { A_NAME: 'a value' },
  files: [{ path: 'input/given.txt', content_base64: 'Z2l2ZW4=' }],
  outputs: ['output/left.txt'],
  large_outputs: { paths: ['output/large.bin'], max_bytes: 99 },
};

/** Runs a job, waits until it is signed, and returns its id. */
async function runSigned(submission: JobSubmission): Promise<string> {
  const { job_id } = await rig().run(submission);
  await expect.poll(async () => (await rig().alpha.client.detail(job_id)).attestation.available).toBe(true);
  return job_id;
}

/** A new link's whole address, and its secret. */
async function linkTo(job_id: string, shows: readonly LinkPart[] = []) {
  const { link_id, link_url } = await rig().alpha.client.createLink(job_id, { shows: [...shows] });
  return { link_id, address: rig().service.url + link_url, secret: link_url.split('#')[1] ?? '' };
}

/** Everything that the page stores: its address, cookies, storage, databases, caches and markup. */
function keptBy(page: Page): Promise<string> {
  return page.evaluate(async () =>
    JSON.stringify([
      location.href,
      document.cookie,
      Object.entries(localStorage),
      Object.entries(sessionStorage),
      await indexedDB.databases(),
      await caches.keys(),
      document.documentElement.outerHTML,
    ]),
  );
}

async function savedBy(page: Page, button: string): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button, exact: true }).click(),
  ]);
  return readFileSync(await download.path(), 'utf8');
}

test('the page has at most 44 kB compressed, and its policy allows only its own service', async () => {
  const built = new URL('../../packages/server/pages/link-page/index.html', import.meta.url);
  expect(gzipSync(readFileSync(built), { level: 9 }).length).toBeLessThanOrEqual(44 * 1024);
  const { headers } = await rig().request('/links/AAAAAAAAAAAAAAAA', { key: null });
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[\w+/]{43}='; style-src 'sha256-[\w+/]{43}='; /);
  expect(policy).toMatch(/; connect-src 'self'; .*; frame-ancestors 'none'$/);
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
});

test('a link shows how the job ended, what it printed, how it was isolated, and who is said to have signed', async () => {
  const job_id = await runSigned(PROGRAM);
  const { address } = await linkTo(job_id);
  await using opened = await openPage(browser, address, { viewport: { width: 360, height: 740 } });
  const { page } = opened;
  const banner = await verdictOf(page, 'whole');
  expect(banner).toMatch(/^CONSISTENT, signer not checked/);
  expect(banner).toContain('The program ended by itself with exit code 3');
  expect(await textOf(page.locator('#output'))).toContain('went in\ngiven');
  expect(await textOf(page.locator('#posture'))).toContain('The program had none, and could reach no other host.');
  const { key_id, public_key_pem } = await rig().alpha.client.publicKey();
  expect(await textOf(page.locator('#signer'))).toContain(key_id);
  expect(await accessibilityProblems(page)).toEqual([]);
  await giveKey(page, public_key_pem);
  expect(await verdictOf(page, 'good')).toContain(key_id);
  expect(await textOf(page.locator('#elsewhere'))).toContain(`svc://jobs/${job_id}/result`);
  expect(await savedBy(page, 'Download attestation.dsse.json')).toContain(key_id);
  expect(opened.troubles).toEqual([]);
});

test('a link shows code, input and files only if its creator chose them; the page checks them against the receipt', async () => {
  const job_id = await runSigned(PROGRAM);
  const bare = await linkTo(job_id);
  await using without = await openPage(browser, bare.address);
  await verdictOf(without.page, 'whole');
  expect(await textOf(without.page.locator('main'))).not.toMatch(/cat input|an argument|a value|left\.txt|large\.bin/);
  expect(await textOf(without.page.locator('#facts'))).toContain('code, input, files');
  const full = await linkTo(job_id, ['code', 'input', 'files']);
  await using opened = await openPage(browser, full.address);
  const { page } = opened;
  await verdictOf(page, 'whole');
  const given = await textOf(page.locator('#given-to-it'));
  for (const part of ['cat input/given.txt', '["an argument"]', '{"A_NAME":"a value"}', 'went in']) {
    expect(given).toContain(part);
  }
  const covered = await page
    .locator('#files li.passed')
    .evaluateAll((items) => items.map((item) => item.dataset['path']));
  expect(covered.sort((one = '', other = '') => (one < other ? -1 : 1))).toEqual([
    'args.json',
    'code',
    'env.json',
    'input/given.txt',
    'output/left.txt',
    'stdin',
  ]);
  expect(await savedBy(page, 'Download left.txt')).toBe('left\n');
  expect(await savedBy(page, 'Download output/large.bin')).toBe('large\n');
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(opened.troubles).toEqual([]);
});

test('the page removes the secret from its address at once, stores it nowhere, and shows the result after a reload', async () => {
  const { link_id, address, secret } = await linkTo(await runSigned(PROGRAM));
  await using opened = await openPage(browser, address);
  const { page } = opened;
  for (let times = 0; times < 2; times++) {
    await verdictOf(page, 'whole');
    expect(page.url()).toBe(`${rig().service.url}/links/${link_id}`);
    expect(await keptBy(page)).not.toContain(secret);
    await page.reload();
  }
  const sent: string[] = [];
  page.on('request', (request) => sent.push(JSON.stringify([request.url(), request.headers()['referer'] ?? ''])));
  await page.getByRole('link', { name: 'page that verifies' }).click();
  await page.getByRole('heading', { name: 'Is this what was signed?' }).waitFor();
  await page.goBack();
  await verdictOf(page, 'whole');
  expect(sent.join()).not.toContain(secret);
  expect(await page.context().storageState()).toEqual({ cookies: [], origins: [] });
});

test('the page says when the browser cannot start a check, and tries again on request', async () => {
  const { address } = await linkTo(await runSigned(PROGRAM));
  await using opened = await openPage(browser, 'about:blank');
  const { page } = opened;
  const without = `window.RealWorker = window.Worker;
    window.Worker = class extends EventTarget {
      postMessage() { queueMicrotask(() => this.dispatchEvent(new Event('error'))); }
      terminate() {}
    };`;
  await page.addInitScript(without);
  await page.goto(address);
  await page.getByText('This browser could not start a check').waitFor();
  await page.evaluate('window.Worker = window.RealWorker');
  await page.getByRole('button', { name: 'Try again' }).click();
  expect(await verdictOf(page, 'whole')).toMatch(/^CONSISTENT, signer not checked/);
});

test('the page reports an address that lacks its secret, and says what to do about an unknown or ended link', async () => {
  const { link_id, address } = await linkTo(await runSigned(PROGRAM));
  const plain = `${rig().service.url}/links/${link_id}`;
  for (const bad of [plain, `${plain}#`, `${plain}#short`, `${plain}#${'a'.repeat(42)}\u00fc`]) {
    await using opened = await openPage(browser, bad);
    await opened.page.getByRole('heading', { name: 'This address is incomplete' }).waitFor();
    expect(opened.requests).toHaveLength(1);
    expect(await accessibilityProblems(opened.page)).toEqual([]);
  }
  await using opened = await openPage(browser, address);
  const { page } = opened;
  await verdictOf(page, 'whole');
  await page.goto(`${plain}#${'A'.repeat(43)}`);
  const gone = page.getByRole('heading', { name: 'This link is unknown or has ended' });
  await gone.waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.goto(address);
  await verdictOf(page, 'whole');
  const { items } = await rig().alpha.client.links((await rig().alpha.client.list({})).items[0]?.job_id ?? '');
  for (const { job_id, link_id: one } of items) await rig().alpha.client.revokeLink(job_id, one);
  await page.reload();
  await gone.waitFor();
  expect(await page.locator('#report').textContent()).toBe('');
});

test('the page follows a running job to its end', async () => {
  const { client } = rig().alpha;
  const { job_id } = await client.submit(callingPython('call("search"); print("found it")'));
  const [call] = await openCalls(rig(), job_id);
  const { address } = await linkTo(job_id);
  await using opened = await openPage(browser, address);
  const { page } = opened;
  await page.getByRole('heading', { name: 'The program runs' }).waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await client.answerToolCall(job_id, call?.seq ?? 0, { result: 'here' });
  await verdictOf(page, 'whole');
  expect(await textOf(page.locator('#output'))).toContain('found it');
  expect(await textOf(page.locator('#state'))).toBe('');
  expect(opened.troubles).toEqual([]);
});

test('no input, output, file name or file from a job runs in the page or keeps its control characters there', async () => {
  const texts = HOSTILE_TEXTS.map(([, text]) => text).join('\n');
  const path = 'output/<img src=x onerror=hostile()>.html';
  const job_id = await runSigned({
    language: 'python',
    code: [
      `texts = ${JSON.stringify(texts)}`,
      'import sys; print(texts); print(texts, file=sys.stderr)',
      `open(${JSON.stringify(path)}, 'w').write('<script>hostile()</script>')`,
      `open('output/large.svg', 'w').write('<svg onload=hostile() xmlns="http://www.w3.org/2000/svg"/>')`,
    ].join('\n'),
    stdin: texts,
    args: ['<script>hostile()</script>'],
    env: { A_NAME: '<img src=x onerror=hostile()>' },
    outputs: [path],
    large_outputs: { paths: ['output/large.svg'], max_bytes: 99 },
  });
  const { address } = await linkTo(job_id, ['code', 'input', 'files']);
  await using opened = await openPage(browser, 'about:blank');
  const { page, requests, troubles } = opened;
  await page.addInitScript('window.hostile = () => { window.hasRun = true; }');
  await page.goto(address);
  await verdictOf(page, 'whole');
  const seen = await textOf(page.locator('#findings'));
  expect(seen).toContain('<svg onload=hostile()>');
  expect(['\u001b', '\u202e', '\u0007'].filter((character) => seen.includes(character))).toEqual([]);
  const strange = page.locator('main').locator('script, iframe, object, embed, math, style, img, base, marquee, video');
  expect(await strange.count()).toBe(0);
  expect(await savedBy(page, `Download ${path.slice('output/'.length)}`)).toBe('<script>hostile()</script>');
  expect(await savedBy(page, 'Download output/large.svg')).toContain('onload=hostile()');
  expect(await page.evaluate('window.hasRun === true')).toBe(false);
  expect(requests.filter((one) => one.includes('hostile'))).toEqual([]);
  expect(page.context().pages()).toHaveLength(1);
  expect(troubles).toEqual([]);
});

test('the page shows the beginning of a long output and offers the whole output as a download', async () => {
  const job_id = await runSigned({ language: 'python', code: 'print("<b>&</b>" * 60_000)' });
  const { address } = await linkTo(job_id);
  await using opened = await openPage(browser, address);
  const { page } = opened;
  await verdictOf(page, 'whole');
  expect((await textOf(page.locator('#output'))).length).toBeLessThan(70_000);
  const { stdout } = await rig().alpha.client.result(job_id);
  expect(await savedBy(page, 'Download stdout.txt')).toBe(stdout);
  expect(stdout.length).toBeGreaterThan(400_000);
});

test("the page sends no request if its fragment is not a secret, and a link's documents are served as attachments", async () => {
  const { link_id, secret } = await linkTo(await runSigned(PROGRAM));
  await using opened = await openPage(browser, `${rig().service.url}/links/${link_id}#key-of-alpha`);
  await opened.page.getByRole('heading', { name: 'This address is incomplete' }).waitFor();
  expect(opened.requests).toHaveLength(1);
  for (const part of ['job', 'result', 'attestation', 'result-artifact']) {
    const { status, headers } = await rig().request(`/links/${link_id}/${part}`, { key: secret });
    expect([part, status, headers.get('content-disposition')]).toEqual([part, 200, 'attachment']);
  }
});

test('the dashboard creates a link that shows what is ticked, shows the link’s address once, and revokes the link', async () => {
  const job_id = await runSigned(PROGRAM);
  const view = { url: rig().service.url, view: `/jobs/${job_id}` };
  await using opened = await openDashboard(browser, view);
  const { page } = opened;
  await openFold(page, 'Hand it on');
  await page.getByLabel('The program', { exact: true }).check();
  await page.getByLabel('It lasts').selectOption('an hour');
  await page.getByRole('button', { name: 'Make a link' }).click();
  const address = await textOf(page.getByRole('region', { name: 'Address of the link' }));
  const [, secret = ''] = address.split('#');
  await page
    .getByRole('region', { name: 'Links as a table' })
    .getByRole('cell', { name: 'code', exact: true })
    .waitFor();
  const { items } = await rig().alpha.client.links(job_id);
  expect(items.map(({ shows }) => shows)).toEqual([['code']]);
  expect(Date.parse(items[0]?.expires_at ?? '') - Date.parse(items[0]?.created_at ?? '')).toBe(3_600_000);
  expect(await accessibilityProblems(page)).toEqual([]);
  await using reader = await openPage(browser, address);
  await verdictOf(reader.page, 'whole');
  await using again = await openDashboard(browser, view);
  await openFold(again.page, 'Hand it on');
  await again.page.getByRole('button', { name: /^End the link/ }).click();
  await again.page.getByRole('region', { name: 'Links as a table' }).waitFor({ state: 'detached' });
  expect(await keptBy(again.page)).not.toContain(secret);
  await reader.page.reload();
  await reader.page.getByRole('heading', { name: 'This link is unknown or has ended' }).waitFor();
});

test('a reader who did not submit the job sees its links, but no form for a new link', async () => {
  const job_id = await runSigned(PROGRAM);
  await linkTo(job_id);
  await using operator = await openCredentials({ dataDir: rig().dataDir });
  const { key } = await operator.create({
    tenant: 'alpha',
    principal: 'colleague',
    scopes: ['jobs:read'],
    expires_at: null,
  });
  await using opened = await openDashboard(browser, { url: rig().service.url, view: `/jobs/${job_id}` }, { key });
  const { page } = opened;
  await page.getByRole('button', { name: 'Hand it on' }).click();
  await page
    .getByText('Only whoever submitted this job may make a link to it, where the operator allows links.')
    .waitFor();
  await page.getByRole('button', { name: /^End the link/ }).waitFor();
  expect(await page.getByRole('button', { name: 'Make a link' }).count()).toBe(0);
});

describe('if the service signs nothing', () => {
  const unsigned = useRig({ links: 'on' });

  test('a link says that the result is not signed', async () => {
    const { job_id } = await unsigned().run(PROGRAM);
    const { address } = await unsigned().alpha.client.createLink(job_id);
    await using opened = await openPage(browser, address);
    const { page } = opened;
    expect(await verdictOf(page, 'unsigned')).toMatch(
      /^Not signedThere is no attestation here, so nobody answers for this result/,
    );
    expect(await textOf(page.locator('#output'))).toContain('went in\ngiven');
    expect(
      await page.locator('#given, #signer').evaluateAll((all) => all.map((one) => one.hasAttribute('hidden'))),
    ).toEqual([true, true]);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(opened.troubles).toEqual([]);
  });
});
