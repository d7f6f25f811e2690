/** The status page in Chromium, for a service with several nodes and for a service with one node. */
import { cpSync, mkdtempSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dropSchema, newSchema } from '../../packages/server/src/store/postgres/schema.fixture.ts';
import { accessibilityProblems, type Browser, openBrowser, type Page } from '../rig/browser.ts';
import { type PostgresServer, startPostgres } from '../rig/postgres-server.ts';
import { Rig } from '../rig/rig.ts';
import { openDashboard } from './open-dashboard.ts';

let browser: Browser;
let server: PostgresServer;
let schema: string;
let executor: Rig;

beforeAll(async () => {
  browser = await openBrowser();
  server = await startPostgres();
  schema = await newSchema(server.url);
  executor = await Rig.start({ 'database-url': schema, 'attestation-mode': 'on', concurrency: '2' });
});
afterAll(async () => {
  await browser.close();
  expect(await executor.stop()).toEqual([]);
  await dropSchema(schema);
  await server[Symbol.asyncDispose]();
});

/** Starts another node of the service with these roles, either with the same signing key or without a key. */
async function startNode(roles: string, key: 'with the key' | 'without a key'): Promise<Rig> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-rig-'));
  if (key === 'with the key')
    cpSync(join(executor.dataDir, 'attestation-keys'), join(directory, 'attestation-keys'), { recursive: true });
  return await Rig.start({ 'database-url': schema, 'attestation-mode': 'on', roles }, directory);
}

const openStatus = (options = {}) => openDashboard(browser, { url: executor.service.url, view: '/status' }, options);

const keyOf = (rig: Rig) => join(rig.dataDir, 'attestation-keys/signing-key.pem');

const nodesOf = (page: Page) => page.getByRole('region', { name: 'Nodes' });

/** Each node's table cells, in the order of the columns, without the cell for the heartbeat's time. */
async function rowsOf(page: Page): Promise<string[][]> {
  const rows = await nodesOf(page).getByRole('row').all();
  const cells = rows.slice(1).map((row) => row.locator('th, td').allTextContents());
  return (await Promise.all(cells)).map((texts) => texts.slice(0, -1));
}

/** The longest texts that a node's columns can have. */
const LONGEST = ['1234 (0.10.12)', 'api, executor, signer (cannot sign)', '16 of 16 jobs, gvisor-application-kernel'];

/** Puts these texts into the first row. Returns the texts of cells that then overflow the panel or are cut off. */
async function outsideWith(page: Page, texts: readonly string[]): Promise<(string | null)[]> {
  return await nodesOf(page).evaluate((panel, given) => {
    const [first] = panel.querySelectorAll('tbody tr');
    for (const [at, text] of given.entries()) first?.children[at]?.replaceChildren(text);
    const right = panel.firstElementChild?.getBoundingClientRect().right ?? 0;
    return Array.from(panel.querySelectorAll('th, td'))
      .filter((cell) => cell.getBoundingClientRect().right > right || cell.scrollWidth > cell.clientWidth)
      .map(({ textContent }) => textContent);
  }, texts);
}

test('a service with one node has no list of nodes on its status page', async () => {
  await using opened = await openStatus();
  await opened.page.getByRole('heading', { name: 'Service', exact: true }).waitFor();
  expect(await nodesOf(opened.page).count()).toBe(0);
  expect(opened.troubles).toEqual([]);
});

describe('a service with several nodes', () => {
  let api: Rig;
  let signer: Rig;

  beforeAll(async () => {
    api = await startNode('api', 'without a key');
    signer = await startNode('signer', 'with the key');
  });
  afterAll(async () => {
    expect([...(await api.stop()), ...(await signer.stop())]).toEqual([]);
  });

  test('lists the nodes, each with its roles and the number of jobs that it runs', async () => {
    const { job_id } = await api.alpha.client.submit({ language: 'bash', code: 'sleep 300' });
    await using opened = await openStatus();
    const heads = nodesOf(opened.page).getByRole('columnheader');
    await heads.first().waitFor();
    expect(await heads.allTextContents()).toEqual(['Node (version)', 'Roles', 'Runs', 'Last heartbeat']);
    const names = (await api.alpha.client.status()).nodes?.map(({ node, version }) => `${node} (${version})`);
    await expect
      .poll(() => rowsOf(opened.page))
      .toEqual([
        [names?.[0], 'api, executor, signer', '1 of 2 jobs, linux-shared-kernel'],
        [names?.[1], 'api', 'no programs'],
        [names?.[2], 'signer', 'no programs'],
      ]);
    const beats = nodesOf(opened.page).locator('time');
    expect(await beats.count()).toBe(3);
    const first = await beats.first().getAttribute('datetime');
    await expect.poll(() => beats.first().getAttribute('datetime')).not.toBe(first);
    await executor.alpha.client.cancel(job_id);
    expect(opened.troubles).toEqual([]);
  });

  test.each([
    ['on a phone', { viewport: { width: 360, height: 740 }, colorScheme: 'light' }],
    ['on a phone in the dark', { viewport: { width: 360, height: 740 }, colorScheme: 'dark' }],
    ['in the dark', { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' }],
  ] as const)('shows every node %s, with no text cut off and no accessibility fault', async (_name, look) => {
    await using opened = await openStatus(look);
    const { page } = opened;
    await nodesOf(page).getByRole('row').nth(3).waitFor();
    expect(opened.troubles).toEqual([]);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(await outsideWith(page, LONGEST)).toEqual([]);
  });

  test('names each node that should sign but cannot', async () => {
    for (const rig of [executor, signer]) renameSync(keyOf(rig), `${keyOf(rig)}.away`);
    await executor.run({ language: 'bash', code: 'true' });
    await using opened = await openStatus();
    const roles = nodesOf(opened.page).getByRole('row').nth(1).getByRole('cell').first();
    await expect.poll(() => roles.textContent()).toBe('api, executor, signer (cannot sign)');
    for (const rig of [executor, signer]) renameSync(`${keyOf(rig)}.away`, keyOf(rig));
    await expect.poll(() => roles.textContent()).toBe('api, executor, signer');
  });
});
