/** Gradings in the dashboard, in Chromium: the list, the page of a grading with its tests, and the cancellation of a grading. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { shippedPacks } from '../../packages/server/src/sandbox/packs/shipped-packs.fixture.ts';
import { accessibilityProblems, type Browser, openBrowser } from '../rig/browser.ts';
import { useRig } from '../rig/rig.ts';
import { openDashboard } from './open-dashboard.ts';

const { packs } = await shippedPacks(['lua', 'c']);
const rig = useRig({ concurrency: '2', 'runtime-packs-dir': packs });
let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

const DOUBLE = { language: 'python', code: 'print(int(input()) * 2)' };
const TESTS = [
  { name: 'right', stdin: '21', expected: '42', points: 3 },
  { name: 'wrong', stdin: '21', expected: '43' },
];

test("the list of gradings leads to a grading's page, with the verdict on each test and a link to the test's job", async () => {
  const { client } = rig().alpha;
  const { grading_id } = await client.submitGrading({ programs: [DOUBLE], tests: TESTS });
  await client.waitForGrading(grading_id);
  await using opened = await openDashboard(browser, { url: rig().service.url, view: '/gradings' });
  const { page, troubles } = opened;
  await page.getByRole('link', { name: grading_id }).click();
  const cells = (name: string) => page.getByRole('row', { name }).getByRole('cell').allTextContents();
  await page.getByRole('row', { name: 'wrong' }).waitFor();
  expect((await cells('right')).slice(0, 2)).toEqual(['accepted', '3 of 3']);
  expect((await cells('wrong')).slice(0, 2)).toEqual(['wrong_answer', '0 of 1']);
  await page.getByText('3 of 4 points').waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByRole('row', { name: 'right' }).getByRole('link', { name: 'run' }).click();
  await page.getByText('42', { exact: true }).waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'The job that judged' }).click();
  await page.getByRole('button', { name: 'Save output/verdict.json' }).waitFor();
  expect(troubles).toEqual([]);
});

test("the page of a grading shows the build, the groups of tests, and each run's usage", async () => {
  const { client } = rig().alpha;
  const code =
    '#include <stdio.h>\nint main(void) { int n; scanf("%d", &n); printf("%d", n < 9 ? n : 0); return n == 9; }';
  const groups = [
    { name: 'small', stop: true },
    { name: 'large', score: 'minimum' as const, points: 60, after: ['small'] },
  ];
  const tests = ['1', '9', '2'].map((stdin) => ({ name: `says ${stdin}`, group: 'small', stdin, expected: stdin }));
  const { grading_id } = await client.submitGrading({
    programs: [{ language: 'c', code }],
    tests: [...tests, { name: 'says 99', group: 'large', stdin: '99', expected: '99' }],
    groups,
    verdict: 'urn:svc:verdict:v2',
  });
  await client.waitForGrading(grading_id);
  await using opened = await openDashboard(browser, { url: rig().service.url, view: `/gradings/${grading_id}` });
  const { page, troubles } = opened;
  const cells = (row: RegExp) => page.getByRole('row', { name: row }).getByRole('cell').allTextContents();
  await page.getByText('The program was compiled once.').waitFor();
  expect(await cells(/^small no/)).toEqual(['no', '1 of 3', 'all tests, up to the first that wins nothing', '—']);
  expect(await cells(/^large no/)).toEqual(['no', '0 of 60', 'the worst test', 'small']);
  const [group, word, points, processor, time, memory, jobs] = await cells(/^says 1 /);
  expect([group, word, points, jobs]).toEqual(['small', 'accepted', '1 of 1', 'run']);
  expect([processor, time].every((took) => /^[\d.]+ m?s$/.test(took ?? ''))).toBe(true);
  expect(memory).toMatch(/^[\d.]+ [KM]iB$/);
  expect((await cells(/^says 9 /))[1]).toBe('runtime_errorThe program ended by itself with exit code 1.');
  expect((await cells(/^says 2 /))[1]).toBe('skippedA test before it ended the group.');
  expect((await cells(/^says 99 /))[1]).toBe('skippedIt needs group small, which did not pass.');
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByRole('link', { name: 'The job that compiled it' }).click();
  await page.getByText('output/product').first().waitFor();
  expect(troubles).toEqual([]);
});

test('a test’s row says if the test’s job was cancelled', async () => {
  const { client } = rig().alpha;
  const sleeping = { language: 'python', code: 'import time\ntime.sleep(200)' };
  const limits = { wall_seconds: 300 };
  const body = { programs: [sleeping], tests: [{ name: 'sleeps' }], limits, verdict: 'urn:svc:verdict:v2' as const };
  const { grading_id } = await client.submitGrading(body);
  const running = () => client.list({ status: ['running'] }).then(({ items: [job] }) => job?.job_id ?? null);
  await expect.poll(running).not.toBeNull();
  await client.cancel((await running()) ?? '');
  await client.waitForGrading(grading_id);
  await using opened = await openDashboard(browser, { url: rig().service.url, view: `/gradings/${grading_id}` });
  await opened.page.getByRole('row', { name: 'sleeps' }).getByText('The job was cancelled.').waitFor();
  expect(opened.troubles).toEqual([]);
});

test('the page of a running grading shows which tests have run, and can cancel the grading', async () => {
  const { client } = rig().alpha;
  const code = 'import time\nn = int(input())\nprint(n, flush=True)\ntime.sleep(n)';
  const tests = ['0', '200'].map((stdin) => ({ name: `sleeps ${stdin}`, stdin, expected: stdin }));
  const limits = { wall_seconds: 300 };
  const programs = [{ name: 'slow', language: 'python', code }, DOUBLE];
  const { grading_id } = await client.submitGrading({ programs, tests, limits });
  await using opened = await openDashboard(browser, { url: rig().service.url, view: '/gradings' });
  const { page, troubles } = opened;
  // The first answer is cut off.
  await page.route('**/events?*', (asked) => asked.fulfill({ body: '{"items":[' }), { times: 1 });
  await page.getByRole('link', { name: grading_id }).click();
  await page.getByText('slow', { exact: true }).click();
  await page.getByRole('row', { name: 'sleeps 0' }).getByText('exited').waitFor();
  expect(await page.getByRole('row', { name: 'sleeps 200' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('status').getByText('cancelled', { exact: true }).waitFor();
  expect((await client.grading(grading_id)).status).toBe('cancelled');
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(troubles).toEqual([]);
});

test("the page of a grading says when the service refuses the grading's events", async () => {
  const { client } = rig().alpha;
  const { grading_id } = await client.submitGrading({
    programs: [{ language: 'bash', code: 'sleep 200' }],
    tests: TESTS,
  });
  await using opened = await openDashboard(browser, { url: rig().service.url, view: '/gradings' });
  const { page } = opened;
  const error = { code: 'insufficient_scope', message: 'No.', request_id: 'request-7', retryable: false };
  await page.route('**/events?*', (asked) => asked.fulfill({ status: 403, json: { error } }));
  await page.getByRole('link', { name: grading_id }).click();
  await page.getByText('request-7', { exact: true }).waitFor();
  expect(await page.getByText('insufficient_scope').count()).toBe(1);
  await client.cancelGrading(grading_id);
  await client.waitForGrading(grading_id);
});

test('another tenant’s grading is not found', async () => {
  const { client } = rig().beta;
  const { grading_id } = await client.submitGrading({ programs: [DOUBLE], tests: TESTS });
  await using opened = await openDashboard(browser, { url: rig().service.url, view: `/gradings/${grading_id}` });
  await opened.page.getByText('There is no grading with this id for your tenant.').waitFor();
  expect(await opened.page.getByRole('row').count()).toBe(0);
  await client.waitForGrading(grading_id);
});
