/** What a job's page shows while the connection to the service comes and goes. Stream-5b. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, openBrowser, type Page } from '../rig/browser.ts';
import { Rig, useRig } from '../rig/rig.ts';
import { type Line, openLine } from './line.ts';
import { historyRead, openDashboard } from './open-dashboard.ts';

const rig = useRig();
let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

/** Writes `line 1`, `line 2` and so on, and ends after about twenty seconds. */
const COUNTING = 'for i in $(seq 200); do echo "line $i"; sleep 0.1; done';
const counted = Array.from({ length: 200 }, (_, index) => `line ${index + 1}`);

const stateOf = (page: Page, state: string) => page.getByLabel(`Connection: ${state}`, { exact: true }).waitFor();

/** Records every state that the page shows from now on, in order. */
async function watchStates(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(() => {
    const shown = () => document.querySelector('[aria-label^="Connection: "]')?.textContent ?? '';
    const states = [shown()];
    (window as unknown as { states: string[] }).states = states;
    new MutationObserver(() => {
      if (shown() !== states.at(-1)) states.push(shown());
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  return () => page.evaluate(() => (window as unknown as { states: string[] }).states);
}

/** The lines in the output that the page saves. */
async function savedOutput(page: Page): Promise<string[]> {
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'save', exact: true }).click();
  const text = readFileSync(await (await download).path(), 'utf8');
  expect(text.endsWith('\n')).toBe(true);
  return text.slice(0, -1).split('\n');
}

/** Opens a counting job's page through a `Line` that no other page uses, and waits until the page is live. */
async function openCounting(use: (page: Page, line: Line) => Promise<void>): Promise<void> {
  const { job_id } = await rig().alpha.client.submit({
    language: 'bash',
    code: COUNTING,
    limits: { wall_seconds: 60 },
  });
  await using line = await openLine(rig().port);
  await using opened = await openDashboard(browser, { url: line.url, view: `/jobs/${job_id}` });
  await stateOf(opened.page, 'live');
  await opened.page.getByText('line 5', { exact: true }).waitFor();
  await use(opened.page, line);
}

describe('a job that writes', () => {
  test('is shown as reconnecting while its connection is cut, then as live, and no line is lost or repeated', async () => {
    await openCounting(async (page, line) => {
      const statesOf = await watchStates(page);
      await line.cut();
      await stateOf(page, 'reconnecting');
      await line.join();
      await stateOf(page, 'live');
      await historyRead(page);
      expect(await statesOf()).toEqual(['live', 'reconnecting', 'live', '']);
      expect(await savedOutput(page)).toEqual(counted);
    });
  });

  test('is shown as offline while the browser is offline and its connection still open, then as live, and nothing is lost', async () => {
    await openCounting(async (page, line) => {
      const statesOf = await watchStates(page);
      line.silence();
      await page.context().setOffline(true);
      await stateOf(page, 'offline');
      await page.getByText('You are offline').waitFor();
      await page.context().setOffline(false);
      await stateOf(page, 'live');
      await historyRead(page);
      const states = await statesOf();
      expect(states.filter((state) => state !== 'reconnecting')).toEqual(['live', 'offline', 'live', '']);
      expect(await savedOutput(page)).toEqual(counted);
    });
  });

  test('is shown as reconnecting while its service restarts, and then as ended', async () => {
    let own = await Rig.start();
    const { dataDir, port } = own;
    try {
      const { job_id } = await own.alpha.client.submit({ language: 'bash', code: 'echo before; sleep 60' });
      await using opened = await openDashboard(browser, { url: own.service.url, view: `/jobs/${job_id}` });
      const { page } = opened;
      await page.getByText('before', { exact: true }).waitFor();
      await stateOf(page, 'live');
      expect(await own.stop('kept')).toEqual([]);
      await stateOf(page, 'reconnecting');
      own = await Rig.start({ port: String(port) }, dataDir);
      await historyRead(page);
      expect(await savedOutput(page)).toEqual(['before']);
    } finally {
      expect(await own.stop()).toEqual([]);
    }
  });
});
