/** A program's tool calls in the dashboard, in Chromium: shown in the timeline, and answered by hand. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityProblems, type Browser, openBrowser, type Page, type WatchedPage } from '../rig/browser.ts';
import { useRig } from '../rig/rig.ts';
import { callingPython, openCalls } from '../rig/tool-programs.ts';
import { HOSTILE_TEXTS } from './hostile-text.ts';
import { openDashboard, openFold, openOptions } from './open-dashboard.ts';

const rig = useRig();
let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

const open = (view: string) => openDashboard(browser, { url: rig().service.url, view });

/** Opens a job's page and its timeline. */
async function openTimeline(job_id: string): Promise<WatchedPage> {
  const opened = await open(`/jobs/${job_id}`);
  await openFold(opened.page, 'Timeline');
  return opened;
}

/** Runs a program to its end. `answerTo` makes the answer to each tool call from the call's arguments. */
async function runAnswered(code: string, answerTo: (told: { text: string }) => object): Promise<string> {
  const { client } = rig().alpha;
  const { job_id } = await client.submit(callingPython(code));
  for (let after: number | null = 0; after !== null; ) {
    const page: Awaited<ReturnType<typeof client.toolCalls>> = await client.toolCalls(job_id, {
      after,
      waitSeconds: 60,
    });
    for (const { seq, arguments: told } of page.calls)
      await client.answerToolCall(job_id, seq, answerTo(told as { text: string }));
    after = page.next_cursor;
  }
  return job_id;
}

const timeline = (page: Page) => page.getByRole('region', { name: 'Timeline' });

describe('the calls of a job', () => {
  test('appear in the timeline with their arguments, their answers and who answered, and long texts are folded', async () => {
    const job_id = await runAnswered('call("search", text="cells"); call("search", text="x" * 100000)', ({ text }) =>
      text === 'cells' ? { result: { found: ['walls'] } } : { error: `nothing\n`.repeat(1000) },
    );
    await using opened = await openTimeline(job_id);
    const { page, troubles } = opened;
    const calls = timeline(page).getByRole('listitem').filter({ hasText: 'Called' });
    await expect.poll(() => calls.nth(0).textContent()).toMatch(/"text": "cells".*"walls".*answered by .+ after/s);
    const long = calls.nth(1);
    expect((await long.textContent())?.length).toBeLessThan(1000);
    await long.getByText(/^Error, /).click();
    await expect.poll(async () => (await long.textContent())?.match(/nothing/g)?.length).toBeGreaterThan(1000);
    await long.getByText(/^Arguments, 97/).click();
    await expect.poll(async () => (await long.textContent())?.length).toBeGreaterThan(100_000);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(troubles).toEqual([]);
  });

  test('are marked as waiting until somebody answers, and as never answered once the job has ended', async () => {
    const { client } = rig().alpha;
    const { job_id } = await client.submit(callingPython('begin("search", a=1); begin("search", a=2); told(); told()'));
    const [first] = await openCalls(rig(), job_id);
    await using opened = await openTimeline(job_id);
    const calls = timeline(opened.page).getByRole('listitem').filter({ hasText: 'Called' });
    await expect.poll(() => calls.getByText('waits for an answer').count()).toBe(2);
    await client.answerToolCall(job_id, first?.seq ?? 0, { result: 'here' });
    await expect.poll(() => calls.nth(0).textContent()).toContain('"here"');
    expect(await calls.getByText('waits for an answer').count()).toBe(1);
    await client.cancel(job_id);
    await calls.nth(1).getByText('Nobody answered.').waitFor();
    expect(await opened.page.getByText('waits for an answer').count()).toBe(0);
  });

  test('are shown a hundred at a time, however many there are', async () => {
    const job_id = await runAnswered('for n in range(250): call("search", text=str(n))', () => ({ result: null }));
    await using opened = await openTimeline(job_id);
    const { page } = opened;
    const more = page.getByRole('button', { name: /^Show 100 of \d+ earlier steps$/ });
    await more.waitFor();
    expect(await timeline(page).getByRole('listitem').count()).toBe(100);
    await more.click();
    expect(await timeline(page).getByRole('listitem').count()).toBe(200);
    await page.getByText('"249"').waitFor();
  });

  test('run no script in the page and show no control characters there, whatever their texts are', async () => {
    const texts = HOSTILE_TEXTS.map(([, text]) => text);
    const code = `for text in json.loads(${JSON.stringify(JSON.stringify(texts))}): call("search", text=text, **{text: 1})`;
    const job_id = await runAnswered(code, ({ text }) =>
      text.length % 2 === 0 ? { result: { [text]: text } } : { error: text },
    );
    await using opened = await open('/jobs');
    const { page, requests, troubles } = opened;
    await page.evaluate('window.hostile = () => { window.hasRun = true; }');
    await page.getByRole('link', { name: job_id }).click();
    await openFold(page, 'Timeline');
    const calls = timeline(page).getByRole('listitem').filter({ hasText: 'Called' });
    await expect.poll(() => calls.count()).toBe(texts.length);
    for (const folded of await timeline(page).locator('.folded:is(details)').all())
      await folded.locator('summary').click();
    const strange = page.locator('.page').locator('script, iframe, object, embed, math, style, img, base, form');
    expect(await strange.count()).toBe(0);
    const seen = (await timeline(page).textContent()) ?? '';
    expect(['\u001b', '\u202e', '\u0007'].filter((character) => seen.includes(character))).toEqual([]);
    expect(seen).toContain('\\u001b[2J');
    expect(await page.evaluate('window.hasRun === true')).toBe(false);
    expect(requests.filter((address) => address.includes('hostile'))).toEqual([]);
    expect(troubles).toEqual([]);
  });
});

describe('the playground', () => {
  test("gives a job a tool with schemas, lets a person answer the calls, and shows the service's refusals", async () => {
    await using opened = await open('/playground');
    const { page, troubles } = opened;
    const editor = page.getByRole('textbox', { name: 'Program', exact: true });
    await page.locator('.cm-content').waitFor();
    await editor.press('Control+A');
    await editor.press('Delete');
    await page.keyboard.type('print("found", tools.search(query="cells"))\ntools.search(query="walls")\n');
    await openOptions(page);
    await page.getByRole('button', { name: 'Add a tool' }).click();
    await page.getByLabel('Name of the tool').fill('search');
    await page.getByText('Description and schemas').click();
    await page.getByLabel('Schema of its result').fill('{"type": "string"');
    await page.getByText('This ends before its value does at byte 17.').waitFor();
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.getByText(/\/tools\/0\/result/).waitFor();
    await page.getByLabel('Schema of its result').fill('{"maximum": 9007199254740993}');
    await page.getByText('This holds a number that a double cannot hold at "/maximum".').waitFor();
    await page.getByLabel('Schema of its result').fill('{"type": "string"}');
    expect(await page.getByText(/^This (ends|holds)/).count()).toBe(0);
    await page.getByRole('button', { name: /^Run/ }).click();
    const answer = page.getByLabel('Answer', { exact: true });
    await page.getByText('"query": "cells"').waitFor();
    await answer.fill('not JSON');
    const send = page.getByRole('button', { name: 'Answer', exact: true });
    await send.click();
    await page.getByText(/^The result is not JSON/).waitFor();
    await answer.fill('{"id": 12345678901234567891}');
    await send.click();
    await page.getByText('The result holds a number that a double cannot hold at "/id".').waitFor();
    await answer.fill('17');
    await send.click();
    await page.getByText('tool_result_misfit').waitFor();
    expect(troubles.filter((trouble) => !trouble.includes('422') && !trouble.includes('400'))).toEqual([]);
    await answer.fill('"walls"');
    await send.click();
    await page.getByText('found walls', { exact: true }).waitFor();
    await page.getByText('"query": "walls"').waitFor();
    await page.getByLabel('Kind of answer').selectOption('error');
    await answer.fill('no such page');
    await send.click();
    await page.getByText(/ToolError.*no such page/).waitFor();
    await openFold(page, 'Calls of tools');
    await page
      .getByText(/^answered by /)
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'Open job' }).click();
    await page.getByRole('button', { name: 'Edit' }).click();
    expect(await page.getByLabel('Name of the tool').inputValue()).toBe('search');
  });
});
