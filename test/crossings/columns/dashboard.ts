/** The dashboard in Chromium: a program is typed and run in the playground, and the job is read on the job's page. */
import { readFileSync } from 'node:fs';
import { isTerminal, LIMIT_NAMES } from '@vouchbox/protocol/vocabulary';
import { LIMIT_WORDS } from '@vouchbox/protocol/words';
import { historyRead, openDashboard, openFold, openOptions } from '../../browser/open-dashboard.ts';
import { textOf as pageText, verdictOf } from '../../browser/verify-page.ts';
import { type Browser, type Locator, openBrowser, openPage, type Page } from '../../rig/browser.ts';
import { type Caller, playCaller } from '../caller.ts';
import type { Crossing } from '../crossing.ts';
import { type Seen, textOf } from '../facts.ts';
import { idOf } from '../links.ts';
import type { OpenPlace, Place } from '../place.ts';
import { checked } from '../readings.ts';
import type { Program } from '../scenarios.ts';
import { gradeByClient, verdictsOf } from './grade-by-client.ts';
import { submitByClient } from './typescript-client.ts';

/** Opens a view as the cell's tenant. Fails if the page had trouble, such as an error in its console. */
async function withPage<Result>(
  { browser, crossing, view }: { readonly browser: Browser; readonly crossing: Crossing; readonly view: string },
  use: (page: Page) => Promise<Result>,
): Promise<Result> {
  const { service, key } = crossing;
  await using opened = await openDashboard(browser, { url: service.url, view }, { key });
  opened.page.setDefaultTimeout(90_000);
  const result = await use(opened.page);
  // When a service crashes, the console has errors too.
  const troubles = crossing.scenario.act === 'crash' ? [] : opened.troubles;
  if (troubles.length > 0) throw new Error(`the page had trouble: ${troubles.join('; ').slice(0, 300)}`);
  return result;
}

async function typed(page: Page, program: Program) {
  const { language, code, stdin, args, env, outputs, large_outputs: large, runtime, limits, tools = [] } = program;
  const editor = page.getByRole('textbox', { name: 'Program', exact: true });
  await page.locator('.cm-content').waitFor();
  await page.getByLabel('Language').selectOption(language);
  // The text is pasted, because the editor adds brackets and indents to typed text.
  await editor.press('Control+A');
  await editor.press('Delete');
  await page.keyboard.insertText(code);
  if (runtime) await page.getByLabel('Runtime').selectOption(runtime);
  if (stdin !== undefined) await pasted(page, 'stdin', stdin);
  await openOptions(page);
  if (program.reproducible) await page.getByLabel('Hash seeds').selectOption('fixed');
  if (args) await page.getByLabel('Arguments').fill(args.join('\n'));
  if (env)
    await page.getByLabel('Variables').fill(
      Object.entries(env)
        .map((pair) => pair.join('='))
        .join('\n'),
    );
  await page.getByLabel('Files to bring back').fill((outputs ?? []).join('\n'));
  await page.getByLabel('Large outputs').fill((large?.paths ?? []).join('\n'));
  await page.getByLabel('File for all of stdout').fill(large?.stdout ?? '');
  for (const [index, { name }] of tools.entries()) {
    await page.getByRole('button', { name: 'Add a tool' }).click();
    await page.getByLabel('Name of the tool').nth(index).fill(name);
  }
  for (const name of LIMIT_NAMES) {
    const value = limits?.[name];
    if (value !== undefined) await page.getByLabel(LIMIT_WORDS[name], { exact: true }).fill(String(value));
  }
}

/** Answers the program's tool call by hand. */
async function answered(page: Page, { scenario: { transcript } }: Crossing): Promise<void> {
  if (transcript === undefined) return;
  const { result } = JSON.parse(transcript) as { readonly result: unknown };
  await page.getByLabel('Answer', { exact: true }).fill(JSON.stringify(result));
  await page.getByRole('button', { name: 'Answer', exact: true }).click();
}

/** Puts a long text into a field at once. Chromium's typing command needs minutes for a mebibyte of lines. */
async function pasted(page: Page, label: string, text: string): Promise<void> {
  await page.getByLabel(label).evaluate((field, value) => {
    const area = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field) as object, 'value');
    area?.set?.call(field, value);
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }, text);
}

/** The file that a button on the page saves. */
async function saved(page: Page, name: string): Promise<Buffer> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name, exact: true }).click(),
  ]);
  return readFileSync(await download.path());
}

/** A stream's text as the page saves it. */
async function streamOf(page: Page, name: 'stdout' | 'stderr'): Promise<string> {
  await page.getByRole('button', { name, exact: true }).click();
  return (await saved(page, 'save')).toString();
}

/** The value next to a name in the summary. */
async function factOf(page: Page, name: string): Promise<string | null> {
  const term = page.locator('dt', { hasText: new RegExp(`^${name}$`) }).first();
  const text = await term.locator('xpath=following-sibling::dd[1]').textContent();
  return text === '—' ? null : text;
}

async function violationsOf(page: Page): Promise<string[]> {
  const list = page.getByRole('heading', { name: 'Violations' }).locator('xpath=following-sibling::ul');
  return await list.locator('li > code:first-child').allTextContents();
}

/** Reads a job's page. */
async function jobPage(page: Page): Promise<Seen> {
  const badge = page.locator('.job-state .badge').first();
  await historyRead(page);
  await openFold(page, 'Attestation');
  await openFold(page, 'Details');
  const status = (await badge.textContent()) as NonNullable<Seen['status']>;
  if (!isTerminal(status)) throw new Error(`the page says ${status as string} of a job that ended`);
  const code = await factOf(page, 'Exit code');
  const named = await violationsOf(page);
  const names = await page.locator('.artifact .digest code').allTextContents();
  const files: Record<string, string> = {};
  for (const name of names) files[name] = textOf(await saved(page, `Save ${name}`));
  return {
    status,
    exit_code: code === null ? null : Number(code),
    signal: await factOf(page, 'Signal'),
    stdout: await streamOf(page, 'stdout'),
    stderr: await streamOf(page, 'stderr'),
    truncated: named.includes('truncated'),
    violations: [...new Set(named.filter((type) => type !== 'truncated'))].toSorted(),
    files,
    ...(await peerOf(page)),
  };
}

/** Reads the other program's output on the linked page of that program's job, and then returns to the first page. */
async function peerOf(page: Page): Promise<Pick<Seen, 'peer'>> {
  const link = page.getByRole('link', { name: /^the interactor, / });
  if ((await link.count()) === 0) return {};
  await link.click();
  await openFold(page, 'Details');
  await page.getByRole('link', { name: /^the program, / }).waitFor();
  await historyRead(page);
  const peer = await streamOf(page, 'stdout');
  await page.goBack();
  await page.getByRole('link', { name: /^the interactor, / }).waitFor();
  return { peer };
}

/** Whether the chart's line for failed jobs rises above zero. The lowest ends of the grid lines are at zero. */
function risesAbove(chart: Locator): Promise<boolean> {
  return chart.evaluate((svg) => {
    const ends = [...svg.querySelectorAll('.chart-grid')].map((line) => Number(line.getAttribute('y2')));
    const series = svg.querySelector('[data-tone="bad"]') as { getBBox(): { y: number } } | null;
    // The mark of a single point has a size even at zero, so it rises a little above zero. The margin of 10 is for this.
    return series !== null && series.getBBox().y < Math.max(...ends) - 10;
  });
}

function callerIn(browser: Browser): Caller {
  const read = (crossing: Crossing, job_id: string) =>
    withPage({ browser, crossing, view: `/jobs/${job_id}` }, async (page) => {
      const seen = await jobPage(page);
      if (crossing.service.signs) await checked(page, crossing.signer);
      return seen;
    });
  return {
    run: async (crossing) => {
      const { program } = crossing.scenario;
      const { uploads, fromJobs, uploadedStdin, packed, build, interactor, before, labels } = program;
      // The playground compiles and runs one program in one job. It takes files of up to 2 MiB, but no session and no signed
      // labels. A client submits all other jobs, and the dashboard reads them.
      if (
        [uploads, fromJobs, uploadedStdin, packed, build, interactor, before, labels].some(
          (member) => member !== undefined,
        )
      ) {
        const job = await submitByClient(crossing);
        await crossing.client.waitForResult(job);
        return await read(crossing, job);
      }
      return await withPage({ browser, crossing, view: '/playground' }, async (page) => {
        await typed(page, program);
        await page.getByRole('button', { name: /^Run/ }).click();
        await answered(page, crossing);
        await page.getByRole('link', { name: 'Open job' }).click();
        const seen = await jobPage(page);
        if (crossing.service.signs) await checked(page, crossing.signer);
        return seen;
      });
    },
    read,
    cancel: async (crossing, job_id) => {
      await withPage({ browser, crossing, view: `/jobs/${job_id}` }, async (page) => {
        await page.getByRole('button', { name: 'Cancel' }).click();
        await page.getByText('The job was cancelled').waitFor();
      });
    },
    links: {
      make: (crossing, job_id) =>
        withPage({ browser, crossing, view: `/jobs/${job_id}` }, async (page) => {
          await openFold(page, 'Hand it on');
          await page.getByRole('button', { name: 'Make a link' }).click();
          return await pageText(page.getByRole('region', { name: 'Address of the link' }));
        }),
      revoke: (crossing, job_id, address) =>
        withPage({ browser, crossing, view: `/jobs/${job_id}` }, async (page) => {
          await openFold(page, 'Hand it on');
          const end = page.getByRole('button', { name: `End the link ${idOf(address)}` });
          await end.click();
          await end.waitFor({ state: 'detached' });
        }),
      // Somebody else opens the link, in a browser that has no dashboard session.
      read: async (address) => {
        await using opened = await openPage(browser, address);
        await verdictOf(opened.page, 'whole');
        return (await saved(opened.page, 'Download stdout.txt')).toString();
      },
    },
    readings: {
      listed: (crossing, job_id) =>
        withPage({ browser, crossing, view: '/jobs' }, async (page) => {
          const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: job_id }) });
          return await pageText(row.locator('.job-program'));
        }),
      counted: (crossing) =>
        withPage({ browser, crossing, view: '/status' }, async (page) => {
          const chart = page.getByRole('img', { name: /^Jobs that ended in each minute/ });
          return await crossing.until('no chart shows the job', async () => ((await risesAbove(chart)) ? 1 : null));
        }),
    },
    grade: async (crossing) => verdictsOf(await read(crossing, await gradeByClient(crossing))),
  };
}

async function open(): Promise<OpenPlace> {
  const browser = await openBrowser();
  const caller = callerIn(browser);
  return {
    play: async (crossing) => await playCaller(caller, crossing),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

export const dashboard: Place = {
  title: 'dashboard',
  group: 'callers',
  service: 'usual',
  shows: ['status', 'exit_code', 'signal', 'stdout', 'stderr', 'truncated', 'violations'],
  except: {
    repeated: 'Each click on Run is a job of its own: the page makes a new key for each.',
    promised: 'The playground has no field for it: who wants a promise keeps it where the job is asked for.',
  },
  open,
};
