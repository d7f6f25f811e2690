/** Every view, at three widths, in light and dark colours: each works by keyboard alone, passes axe, and fits the window. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { attestedJob, exportOf } from '../../packages/verifier/test/attested-job.ts';
import { accessibilityProblems, type Browser, openBrowser, openPage, type WatchedPage } from '../rig/browser.ts';
import { useRig } from '../rig/rig.ts';
import { openDashboard, openFolds, openOptions } from './open-dashboard.ts';
import { giveExport, giveKey, verdictOf, verifyPage } from './verify-page.ts';

const LOOKS = [360, 768, 1280].flatMap((width) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ colorScheme, viewport: { width, height: 800 } })),
);

const rig = useRig({ 'attestation-mode': 'on', links: 'on' });
const signed = attestedJob({ inputs: { 'input/a.txt': 'a' }, outputs: { 'output/b.txt': 'b' } });
let browser: Browser;
let job_id: string;
let grading_id: string;

beforeAll(async () => {
  browser = await openBrowser();
  const code =
    "import sys\nprint('\\x1b[31mred\\x1b[0m')\nprint('a warning', file=sys.stderr)\nopen('output/a', 'w').write('a')";
  ({ job_id } = await rig().run({
    language: 'python',
    code,
    outputs: ['output/**', 'output/absent'],
    labels: ['seen'],
  }));
  const tests = [
    { name: 'right', stdin: '21', expected: '42' },
    { name: 'wrong', stdin: '21', expected: '43' },
  ];
  const programs = [{ language: 'python' as const, code: 'print(int(input()) * 2)' }];
  ({ grading_id } = await rig().alpha.client.submitGrading({ programs, tests }));
  await rig().alpha.client.waitForGrading(grading_id);
});
afterAll(() => browser.close());

/** More steps than any view has. */
const stepsMax = 400;

/**
 * Walks round the page with Tab. Returns the elements that Tab did not reach, and the elements whose focus nobody could see: the
 * focus was not shown, or the element was outside the window.
 */
async function walk({ page }: WatchedPage): Promise<{ missed: string[]; unseen: string[] }> {
  const unseen: string[] = [];
  for (let step = 0; step < stepsMax; step++) {
    // In an editor, Tab indents until Escape is pressed.
    if ((await page.locator('.cm-content:focus').count()) > 0) await page.keyboard.press('Escape');
    await page.keyboard.press('Tab');
    const found = await page.evaluate(() => {
      const at = document.activeElement;
      if (at === null || at === document.body) return 'outside';
      if (at.hasAttribute('data-walked')) return 'round';
      at.setAttribute('data-walked', '');
      const { left, right, top, bottom } = at.getBoundingClientRect();
      const isInside = left < innerWidth && right > 0 && bottom > 0 && top < innerHeight;
      // The ring that shows the focus may be around an enclosing element of the field, switch or editor.
      const around = [
        at,
        at.parentElement,
        at.parentElement?.parentElement,
        at.parentElement?.parentElement?.parentElement,
      ];
      const isMarked = around.some((one) => {
        if (!one) return false;
        const { outlineStyle, boxShadow } = getComputedStyle(one);
        return outlineStyle !== 'none' || boxShadow !== 'none';
      });
      return { html: at.outerHTML.slice(0, 120), isSeen: isInside && isMarked };
    });
    if (found === 'round') break;
    if (found !== 'outside' && !found.isSeen) unseen.push(found.html);
  }
  const missed = await page.evaluate(() => {
    const usable = 'a[href], button, input:not([type=radio]), select, textarea, summary, [tabindex="0"]';
    return [...document.querySelectorAll<HTMLElement>(usable)]
      .filter((one) => one.checkVisibility() && !one.matches(':disabled, [tabindex="-1"], [data-walked]'))
      .map((one) => one.outerHTML.slice(0, 120));
  });
  return { missed, unseen };
}

async function expectUsable(opened: WatchedPage): Promise<void> {
  expect(await accessibilityProblems(opened.page)).toEqual([]);
  const excess = await opened.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(excess).toBeLessThanOrEqual(0);
  expect(await walk(opened)).toEqual({ missed: [], unseen: [] });
  expect(opened.troubles).toEqual([]);
}

describe.for(LOOKS)('by keyboard alone, $viewport.width pixels wide, in $colorScheme colours, one can use', (look) => {
  test.for(['/jobs', '/gradings', '/playground', '/status', '/service', '/key', '/nothing', 'job', 'grading'])(
    'the view %s of the dashboard',
    async (name) => {
      const view = { job: `/jobs/${job_id}`, grading: `/gradings/${grading_id}` }[name] ?? name;
      await using opened = await openDashboard(browser, { url: rig().service.url, view }, look);
      const { page } = opened;
      // The sign-in also has a heading, so the test waits first for the frame, then for the view inside it.
      await page.getByText('Service ready').waitFor();
      await page.getByRole('heading', { level: 1 }).waitFor();
      if (name === '/jobs') await page.getByRole('link', { name: job_id }).waitFor();
      if (name === '/gradings') await page.getByRole('link', { name: grading_id }).waitFor();
      if (name === 'grading') await page.getByRole('row', { name: 'wrong' }).waitFor();
      if (name === '/playground') {
        await page.locator('.cm-content').waitFor();
        await openOptions(page);
      }
      if (name === 'job') {
        await page.getByRole('heading', { name: 'Violations' }).waitFor();
        await openFolds(page);
        await page.getByText('The record is whole').waitFor();
        await page.getByRole('button', { name: 'Make a link' }).waitFor();
      }
      await expectUsable(opened);
    },
  );

  test('the sign-in', async () => {
    await using opened = await openDashboard(browser, { url: rig().service.url }, { ...look, key: null });
    await opened.page.getByLabel('API key').waitFor();
    await expectUsable(opened);
  });

  test('the page that verifies, before and after it gets an export', async () => {
    await using opened = await openPage(browser, verifyPage.href, look);
    await expectUsable(opened);
    await giveKey(opened.page, signed.key.publicKeyPem);
    await giveExport(opened.page, exportOf(signed));
    await verdictOf(opened.page, 'good');
    await opened.page.evaluate(() => {
      for (const one of document.querySelectorAll('[data-walked]')) one.removeAttribute('data-walked');
      (document.activeElement as HTMLElement | null)?.blur();
    });
    await expectUsable(opened);
  });

  test('the page of a link', async () => {
    await expect.poll(async () => (await rig().alpha.client.detail(job_id)).attestation.available).toBe(true);
    const { address } = await rig().alpha.client.createLink(job_id, { shows: ['code', 'input', 'files'] });
    await using opened = await openPage(browser, address, look);
    await verdictOf(opened.page, 'whole');
    await expectUsable(opened);
  });

  test("the page at the service's own address", async () => {
    await using opened = await openPage(browser, rig().service.url, look);
    await opened.page.getByRole('link', { name: 'Dashboard' }).waitFor();
    await expectUsable(opened);
  });

  test('the page of a link whose address is incomplete', async () => {
    await using opened = await openPage(browser, `${rig().service.url}/links/AAAAAAAAAAAAAAAA`, look);
    await opened.page.getByRole('heading', { name: 'This address is incomplete' }).waitFor();
    await expectUsable(opened);
  });

  test.for(['', '/tutorial.html'])('the documents, at /docs%s', async (path) => {
    await using opened = await openPage(browser, `${rig().service.url}/docs${path}`, look);
    await opened.page.getByRole('searchbox').waitFor();
    await expectUsable(opened);
  });
});
