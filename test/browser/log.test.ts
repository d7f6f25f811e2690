/** A job's log, the playground with its output, and the list of jobs, used in Chromium as a person uses them. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityProblems, type Browser, type Locator, openBrowser, type Page } from '../rig/browser.ts';
import { useRig } from '../rig/rig.ts';
import { openDashboard } from './open-dashboard.ts';

const rig = useRig();
let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

const open = (view: string, options = {}) => openDashboard(browser, { url: rig().service.url, view }, options);

const lineOf = (page: Page, number: number) =>
  page.locator('.output-line', { has: page.getByLabel(`Line ${number}`, { exact: true }) });

/** Whether an element is entirely in the window. */
async function isInSight(element: Locator): Promise<boolean> {
  const box = await element.boundingBox();
  const height = element.page().viewportSize()?.height ?? 0;
  return box !== null && box.y >= 0 && box.y + box.height <= height;
}

/** Replaces the program in the editor. */
async function type(page: Page, code: string): Promise<void> {
  await page.locator('.cm-content').press('Control+A');
  await page.keyboard.insertText(code);
}

describe('the log of a job', () => {
  test('opens at the line in its address, and a click on a line number puts that line into the address', async () => {
    const { job_id } = await rig().run({ language: 'bash', code: 'for i in $(seq 1000); do echo "line $i"; done' });
    await using opened = await open(`/jobs/${job_id}#L400`);
    const { page, troubles } = opened;
    await page.getByText('line 400', { exact: true }).waitFor();
    expect(await lineOf(page, 400).getAttribute('class')).toContain('is-addressed');
    expect(await page.getByText('line 1000', { exact: true }).count()).toBe(0);
    await page.getByLabel('Line 402', { exact: true }).click();
    expect(new URL(page.url()).hash).toBe('#L402');
    expect(await lineOf(page, 402).getAttribute('class')).toContain('is-addressed');
    await page.getByRole('button', { name: 'copy line address' }).waitFor();
    expect(troubles).toEqual([]);
  });

  test('keeps the line named by its address in sight while the program writes more', async () => {
    const { client } = rig().alpha;
    const code =
      'for i in $(seq 405); do echo "line $i"; done; tool more \'{}\' > answer; for i in $(seq 406 1000); do echo "line $i"; done';
    const { job_id } = await client.submit({ language: 'bash', code, tools: [{ name: 'more' }] });
    await using opened = await open(`/jobs/${job_id}#L400`);
    const { page, troubles } = opened;
    await page.getByText('line 405', { exact: true }).waitFor();
    const { calls } = await client.toolCalls(job_id, { waitSeconds: 60 });
    await client.answerToolCall(job_id, calls[0]?.seq ?? -1, { result: null });
    await page.locator('.output-count', { hasText: /^1,000 lines$/ }).waitFor();
    expect(await isInSight(lineOf(page, 400))).toBe(true);
    expect(await page.getByText('line 1000', { exact: true }).count()).toBe(0);
    expect(troubles).toEqual([]);
  });

  test('can be searched from match to match, whether a match is in upper or lower case', async () => {
    const code = 'for i in $(seq 3000); do echo "line $i"; done; echo NEEDLE; echo needle 2';
    const { job_id } = await rig().run({ language: 'bash', code });
    await using opened = await open(`/jobs/${job_id}`);
    const { page, troubles } = opened;
    await page.getByText('needle 2', { exact: true }).waitFor();
    const search = page.getByLabel('Search the output');
    await search.fill('line 29');
    await page.getByText('111', { exact: true }).waitFor();
    await search.press('Enter');
    await page.getByText('1 of 111', { exact: true }).waitFor();
    await lineOf(page, 29).locator('mark').waitFor();
    await search.fill('needle');
    await search.press('Shift+Enter');
    await page.getByText('2 of 2', { exact: true }).waitFor();
    await search.press('Shift+Enter');
    await page.getByText('1 of 2', { exact: true }).waitFor();
    expect(await lineOf(page, 3001).locator('mark').textContent()).toBe('NEEDLE');
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(troubles).toEqual([]);
  });

  test("folds indented lines, and shows the times of lines in the reader's format", async () => {
    const code = 'print(\'{\\n  "a": {\\n    "b": 1\\n  }\\n}\\ndone\')';
    const { job_id } = await rig().run({ language: 'python', code });
    await using opened = await open(`/jobs/${job_id}`, { locale: 'de-DE', timezoneId: 'Asia/Tokyo' });
    const { page } = opened;
    await page.getByLabel('Lines under line 2').click();
    const inner = page.locator('.output-text', { hasText: '"b": 1' });
    expect(await inner.count()).toBe(0);
    expect(await page.getByLabel('Line 4', { exact: true }).count()).toBe(1);
    await page.getByLabel('Lines under line 1').click();
    expect(await page.getByLabel(/^Line \d$/).allTextContents()).toEqual(['1', '5', '6']);
    await page.getByRole('button', { name: 'fold' }).click();
    await inner.waitFor();
    await page.getByRole('button', { name: 'times' }).click();
    const { created_at } = await rig().alpha.client.detail(job_id);
    const hour = (new Date(created_at).getUTCHours() + 9) % 24;
    const shown = (await lineOf(page, 1).locator('time').textContent()) ?? '';
    expect(shown).toMatch(/^\d\d:\d\d:\d\d$/);
    expect([hour, (hour + 1) % 24]).toContain(Number(shown.slice(0, 2)));
    expect(await accessibilityProblems(page)).toEqual([]);
  });

  test('breaks a long line into rows, finds text far inside the line, and saves exactly what the program wrote', async () => {
    const code = "import sys\nsys.stdout.write('x' * 16380 + 'needle' + 'y' * 40000 + 'Far' + '\\nlast')";
    const { job_id } = await rig().run({ language: 'python', code });
    await using opened = await open(`/jobs/${job_id}`);
    const { page, troubles } = opened;
    await page.locator('.output-count', { hasText: /^2 lines$/ }).waitFor();
    await page.getByText('last', { exact: true }).waitFor();
    expect(await page.getByRole('link', { name: /^Line \d$/ }).allTextContents()).toEqual(['1', '2']);
    expect(await page.locator('.output-line').count()).toBe(5);
    const search = page.getByLabel('Search the output');
    await search.fill('needle');
    await page.getByText('1', { exact: true }).and(page.getByRole('status')).waitFor();
    await search.fill('far');
    await search.press('Enter');
    await page.getByText('1 of 1', { exact: true }).waitFor();
    expect(
      await page.locator('.is-found').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-index'))),
    ).toEqual(['3']);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'save', exact: true }).click(),
    ]);
    const saved = readFileSync(await download.path(), 'utf8');
    expect(saved).toBe(`${'x'.repeat(16_380)}needle${'y'.repeat(40_000)}Far\nlast`);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(troubles).toEqual([]);
  });

  test('can fill the screen, and returns to its former size', async () => {
    const { job_id } = await rig().run({ language: 'bash', code: 'echo whole' });
    await using opened = await open(`/jobs/${job_id}`);
    const { page } = opened;
    const button = page.getByRole('button', { name: 'full screen' });
    const isFull = () => page.evaluate('document.fullscreenElement?.className');
    await button.click();
    await expect.poll(isFull).toBe('output');
    await button.click();
    await expect.poll(isFull).toBeUndefined();
  });
});

describe('the playground', () => {
  const window = { viewport: { width: 1280, height: 860 } };

  test('shows the end of the output beside the program, without scrolling', async () => {
    await using opened = await open('/playground', window);
    const { page } = opened;
    await page.locator('.cm-content').waitFor();
    await type(page, 'for n in range(500): print(n)\n[][0]');
    await page.getByRole('button', { name: /^Run/ }).click();
    const error = page.getByText('IndexError: list index out of range', { exact: true });
    await error.waitFor();
    await expect.poll(() => isInSight(error)).toBe(true);
    expect(await page.evaluate('window.scrollY')).toBe(0);
    expect(await isInSight(page.locator('.playground-options'))).toBe(true);
  });

  test('names the pack that has a missing library, and offers to select that pack', async () => {
    await using opened = await open('/jobs', window);
    const { page } = opened;
    const library = { language: 'python', name: 'plotters', version: '1', modules: ['plotter'] };
    const pack = { name: 'python-plots', version: '1', languages: ['python'], digest: 'x', libraries: [library] };
    const told = await rig().alpha.client.capabilities();
    const json = { ...told, runtime_packs: [...told.runtime_packs, pack] };
    await page.route('**/v1/capabilities', (asked) => asked.fulfill({ json }));
    await page.getByRole('link', { name: 'Playground' }).click();
    await page.locator('.cm-content').waitFor();
    await type(page, 'import plotter');
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.getByText('plotter is in a pack: runtime python-plots', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Use python-plots' }).click();
    expect(await page.getByLabel('Runtime').inputValue()).toBe('python-plots');
  });

  test('has an editor in which, as the page says, Tab indents, and Tab after Escape moves to the next field', async () => {
    await using opened = await open('/playground', window);
    const { page } = opened;
    await page.locator('.cm-content').waitFor();
    await page.getByText('Esc and then Tab leaves the editor.').waitFor();
    await type(page, 'x');
    await page.keyboard.press('Tab');
    expect(await page.locator('.cm-line').first().textContent()).not.toBe('x');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Tab');
    await expect.poll(() => page.getByLabel('stdin').evaluate((field) => field === document.activeElement)).toBe(true);
  });
});

test('the status page begins with graphs of the last hour, with times and round numbers on the axes', async () => {
  await rig().run({ language: 'bash', code: 'exit 3' });
  await using opened = await open('/status');
  const { page, troubles } = opened;
  const hour = page.getByRole('region', { name: 'The last hour' });
  const ends = hour.getByRole('img', {
    name: /^Jobs that ended in each minute\. Latest: succeeded \d+, others \d+\.$/,
  });
  await ends.waitFor();
  expect(await page.getByRole('heading', { level: 2 }).first().textContent()).toBe('The last hour');
  const marks = await ends.locator('text').allTextContents();
  expect(marks.filter((mark) => /^\d+$/.test(mark))).toContain('0');
  expect(marks.some((mark) => /\d:\d\d/.test(mark))).toBe(true);
  await hour
    .getByRole('img', { name: /^How long your jobs ran\. Latest: half within [\d.]+ m?s, 95 % within [\d.]+ m?s\.$/ })
    .waitFor();
  await hour.getByRole('img', { name: /^Jobs waiting and running\. Latest: queued 0, running \d+\.$/ }).waitFor();
  expect(troubles).toEqual([]);
  expect(await accessibilityProblems(page)).toEqual([]);
});

describe('the list of jobs', () => {
  test('offers a tenant without jobs its first run', async () => {
    await using opened = await open('/jobs', { key: rig().beta.key });
    const { page } = opened;
    await page.getByRole('heading', { name: 'Run your first program' }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole('link', { name: 'Write a program' }).click();
    await page.getByRole('heading', { name: 'Playground' }).waitFor();
  });

  test('has dense rows with labels and the program’s first line', async () => {
    const code = '#!/bin/bash\n\n# marks of course 7 \u202e\ntrue';
    const { job_id } = await rig().run({ language: 'bash', code, labels: ['attempt 3'] });
    await using opened = await open('/jobs', { width: 1280 });
    const { page } = opened;
    const row = page.getByRole('row', { name: job_id });
    await row.getByText('# marks of course 7 \\u{202e}').waitFor();
    expect((await row.boundingBox())?.height).toBeLessThan(30);
    await row.getByRole('link', { name: 'attempt 3' }).click();
    await page.getByRole('button', { name: 'Label attempt 3: show all' }).click();
    await page.getByLabel('Time').selectOption('The last hour');
    await page.getByLabel('Job id or label').pressSequentially('attempt 3');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Label attempt 3: show all' }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Show label');
    await page.keyboard.press('Enter');
    expect(new URL(page.url()).search).toBe('?label=attempt+3&since=hour');
    await page.getByRole('link', { name: job_id }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole('link', { name: job_id }).click();
    await page.locator('.glance-code', { hasText: '# marks of course 7 \\u{202e}' }).waitFor();
  });

  test('shows only the jobs from the chosen time', async () => {
    const { job_id } = await rig().run({ language: 'bash', code: 'true' });
    await using opened = await open('/jobs');
    const { page } = opened;
    await page.getByRole('link', { name: job_id }).waitFor();
    await page.getByLabel('Time').selectOption('The last hour');
    await page.getByRole('link', { name: job_id }).waitFor();
    expect(new URL(page.url()).search).toBe('?since=hour');
    await page.clock.setFixedTime(Date.now() + 2 * 3_600_000);
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByText('No jobs match.').waitFor();
    await page.getByLabel('Time').selectOption('The last 24 hours');
    await page.getByRole('link', { name: job_id }).waitFor();
  });
});
