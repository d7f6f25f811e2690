/** The dashboard under stress: views on a phone, a service that goes away, keys that end, floods and hostile programs. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OpenCredentials, openCredentials } from '@vouchbox/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fillStore } from '../../bench/speed/filled-store.ts';
import { accessibilityProblems, type Browser, openBrowser, type Page, type WatchedPage } from '../rig/browser.ts';
import { Rig, useRig } from '../rig/rig.ts';
import { HOSTILE_TEXTS } from './hostile-text.ts';
import { historyRead, openDashboard, openFold, openFolds, signIn } from './open-dashboard.ts';

const rig = useRig({ 'attestation-mode': 'on' });
let browser: Browser;
let operator: OpenCredentials;

beforeAll(async () => {
  browser = await openBrowser();
  operator = await openCredentials({ dataDir: rig().dataDir });
});
afterAll(() => browser.close());

const open = (view: string, options = {}) => openDashboard(browser, { url: rig().service.url, view }, options);

/** Whether the page scrolls sideways. */
const isTooWide = (page: Page) =>
  page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');

/** The texts of the elements that reach beyond a side of the page or show only a part of their text. */
const cutOff = (page: Page, selector: string) =>
  page.locator(selector).evaluateAll((found) =>
    found
      .filter((element) => {
        const { left, right } = element.getBoundingClientRect();
        return left < 0 || right > document.documentElement.clientWidth || element.scrollWidth > element.clientWidth;
      })
      .map(({ textContent }) => textContent),
  );

/** A page of a history with `linesMax` lines of output and then `finished`. A service with larger caps stores such histories. */
function pageOfLines(job_id: string, after: number, linesMax: number) {
  const events = Array.from({ length: Math.min(1000, linesMax + 1 - after) }, (_, index) => {
    const seq = after + index + 1;
    const output = { kind: 'stdout', data: { text: `line ${seq}` } };
    const end = { kind: 'finished', data: { status: 'succeeded', terminal_reason: 'exited', exit_code: 0 } };
    return { job_id, seq, timestamp: '2026-01-01T00:00:00.000Z', ...(seq > linesMax ? end : output) };
  });
  return { events, next_cursor: after + events.length > linesMax ? null : after + events.length };
}

/** A program whose job has everything that a job page can show. */
const ILLUSTRATED = `import base64, os, sys, time
os.makedirs('output', exist_ok=True)
open('output/dot.png', 'wb').write(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='))
open('output/page.svg', 'w').write('<svg xmlns="http://www.w3.org/2000/svg" onload="hostile()"/>')
for n, colour in enumerate([32, 36, 34, 35, 33]):
    print(f'\\x1b[1;{colour}mstep {n + 1}\\x1b[0m of 5: checked {(n + 1) * 20} numbers')
print('one warning', file=sys.stderr)`;

describe('every view', () => {
  const views = ['/jobs', '/gradings', '/playground', '/status', '/service', '/key'];
  const looks = [
    ['on a phone', { viewport: { width: 360, height: 740 }, colorScheme: 'light' }],
    ['in the dark', { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' }],
  ] as const;

  test.each(views.flatMap((view) => looks.map(([name, look]) => [view, name, look] as const)))(
    '%s %s is usable by keyboard and screen reader, and does not scroll sideways',
    async (view, _name, look) => {
      await using opened = await open(view, look);
      // The sign-in also has a heading, so the test waits first for the frame, then for the view inside it.
      await opened.page.getByText('Service ready').waitFor();
      await opened.page.getByRole('heading', { level: 1 }).waitFor();
      expect(opened.troubles).toEqual([]);
      expect(await accessibilityProblems(opened.page)).toEqual([]);
      expect(await isTooWide(opened.page)).toBe(false);
      expect(await cutOff(opened.page, '.navigation-link')).toEqual([]);
    },
  );

  test.each(looks)(
    'the view of a job %s is usable by keyboard and screen reader, and does not scroll sideways',
    async (_name, look) => {
      const { job_id } = await rig().run({
        language: 'python',
        code: ILLUSTRATED,
        outputs: ['output/**', 'output/absent.txt'],
      });
      await using opened = await open(`/jobs/${job_id}`, look);
      await opened.page.getByRole('img', { name: 'output/dot.png' }).waitFor();
      await opened.page.getByRole('heading', { name: 'Violations' }).waitFor();
      await openFolds(opened.page);
      expect(await opened.page.locator('img').count()).toBe(1);
      expect(opened.troubles).toEqual([]);
      expect(await accessibilityProblems(opened.page)).toEqual([]);
      expect(await isTooWide(opened.page)).toBe(false);
      expect(await cutOff(opened.page, '[aria-label="Limits as a table"]')).toEqual([]);
      await opened.page.getByRole('link', { name: 'Jobs', exact: true }).click();
      await opened.page.getByRole('link', { name: job_id }).waitFor();
      expect(await cutOff(opened.page, '.job-body .soft')).toEqual([]);
    },
  );

  test('can be reached by keyboard alone, from the sign-in to the output of a job', async () => {
    const { job_id } = await rig().run({ language: 'bash', code: 'echo by keyboard' });
    await using opened = await openDashboard(browser, { url: rig().service.url }, { key: null });
    const { page } = opened;
    await page.getByLabel('API key').focus();
    await page.keyboard.type(rig().alpha.key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    await page.getByRole('link', { name: job_id }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('by keyboard', { exact: true }).waitFor();
    expect(opened.troubles).toEqual([]);
  });
});

describe('a job that runs', () => {
  test('has a page that shows output as it comes, can cancel the job, and then shows how the job ended', async () => {
    const { job_id } = await rig().alpha.client.submit({
      language: 'bash',
      code: 'echo first; sleep 60; echo never',
    });
    await using opened = await open(`/jobs/${job_id}`);
    const { page } = opened;
    await page.getByText('first', { exact: true }).waitFor();
    await page.getByLabel('Connection: live').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('The job was cancelled').waitFor();
    await historyRead(page);
    expect(await page.getByText('never', { exact: true }).count()).toBe(0);
    expect(opened.troubles).toEqual([]);
  });

  test('stays on the page when its service restarts, and the playground keeps the typed text', async () => {
    let own = await Rig.start();
    const { dataDir, port } = own;
    try {
      await using opened = await openDashboard(browser, { url: own.service.url, view: '/playground' });
      const { page } = opened;
      await page.getByLabel('stdin').fill('typed before');
      const { job_id } = await own.alpha.client.submit({ language: 'bash', code: 'echo before; sleep 60' });
      await page.getByRole('link', { name: 'Jobs' }).click();
      await page.getByRole('link', { name: job_id }).click();
      await page.getByText('before', { exact: true }).waitFor();
      expect(await own.stop('kept')).toEqual([]);
      await page.getByText('Service unreachable').waitFor();
      own = await Rig.start({ port: String(port) }, dataDir);
      await page.getByText('Service ready').waitFor();
      await page.getByText(/The service (was stopped|restarted) while the job ran/).waitFor();
      await historyRead(page);
      await page.getByRole('link', { name: 'Playground' }).click();
      expect(await page.getByLabel('stdin').inputValue()).toBe('typed before');
    } finally {
      expect(await own.stop()).toEqual([]);
    }
  });

  test('is listed on a page that says whether the browser is offline', async () => {
    await using opened = await open('/jobs');
    await opened.page.getByText('Service ready').waitFor();
    await opened.page.context().setOffline(true);
    await opened.page.getByText('You are offline').waitFor();
    await opened.page.context().setOffline(false);
    await opened.page.getByText('Service ready').waitFor();
    expect(await opened.page.getByText('You are offline').count()).toBe(0);
  });
});

const plain = { tenant: 'alpha', principal: null, scopes: null, expires_at: null };

describe('the button', () => {
  test.each([
    ['Sign out', null],
    ['Sign out instead', 'Your key is no longer accepted'],
  ])('“%s” removes from the page everything that was typed or read', async (name, title) => {
    const { job_id } = await rig().run({ language: 'bash', code: 'echo secret of alpha' });
    const { key, credential_id } = await operator.create(plain);
    await using opened = await open('/jobs', { key });
    const { page } = opened;
    await page.getByRole('link', { name: job_id }).waitFor();
    await page.getByRole('link', { name: 'Playground' }).click();
    await page.getByLabel('stdin').fill('a secret');
    if (title !== null) {
      await operator.revoke({ credential_id });
      await page.getByRole('button', { name: /^Run/ }).click();
      await page.getByRole('dialog', { name: title }).waitFor();
    }
    await page.getByRole('button', { name, exact: true }).click();
    await signIn(opened, rig().beta.key);
    expect(await page.getByLabel('stdin').inputValue()).toBe('');
    await page.getByRole('link', { name: 'Jobs', exact: true }).click();
    await page.getByText('No jobs yet.').waitFor();
    expect(await page.getByText(job_id).count()).toBe(0);
  });
});

describe('a key that ends', () => {
  /** Types into the playground, lets the key end, and signs in with another key. */
  async function expectOutlived(opened: WatchedPage, title: string): Promise<void> {
    const { page } = opened;
    await page.getByRole('dialog', { name: title }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await signIn(opened, rig().alpha.key);
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    expect(await page.getByLabel('stdin').inputValue()).toBe('kept');
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.getByText('hello, kept', { exact: true }).waitFor();
  }

  test('a page asks for another key when its key is revoked, and loses nothing', async () => {
    const { key, credential_id } = await operator.create(plain);
    await using opened = await open('/playground', { key });
    await opened.page.getByLabel('stdin').fill('kept');
    await operator.revoke({ credential_id });
    await opened.page.getByRole('button', { name: /^Run/ }).click();
    await expectOutlived(opened, 'Your key is no longer accepted');
  });

  test('a page asks for another key when its key expires, and loses nothing', async () => {
    const { key } = await operator.create({ ...plain, expires_at: new Date(Date.now() + 8000).toISOString() });
    await using opened = await open('/playground', { key });
    await opened.page.getByLabel('stdin').fill('kept');
    await expectOutlived(opened, 'Your key has expired');
  });

  test('a page accepts a key with a lifetime of sixty days until it expires, and then asks for another key', async () => {
    const days = (count: number) => count * 86_400_000;
    const { key } = await operator.create({ ...plain, expires_at: new Date(Date.now() + days(60)).toISOString() });
    await using opened = await open('/playground', { key: null });
    const { page } = opened;
    await page.clock.install();
    await signIn(opened, key);
    await page.getByText('Service ready').waitFor();
    await page.clock.fastForward(days(25));
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.clock.fastForward(days(25));
    await page.clock.fastForward(days(11));
    await page.getByRole('dialog', { name: 'Your key has expired' }).waitFor();
  });

  test("another tenant's key clears the playground's job from the page and keeps what was typed", async () => {
    const { key, credential_id } = await operator.create(plain);
    await using opened = await open('/playground', { key });
    const { page } = opened;
    await page.getByLabel('stdin').fill('kept');
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.getByText('hello, kept', { exact: true }).waitFor();
    await operator.revoke({ credential_id });
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.getByRole('dialog').waitFor();
    await signIn(opened, rig().beta.key);
    await page.getByText('What the program writes appears here.').waitFor();
    expect(await page.getByLabel('stdin').inputValue()).toBe('kept');
    expect(await page.getByText('hello, kept', { exact: true }).count()).toBe(0);
  });

  test("another tenant's key clears a finished grading from the page", async () => {
    const { client } = rig().alpha;
    const program = { language: 'python', code: 'print(input())' };
    const { grading_id } = await client.submitGrading({
      programs: [program],
      tests: [{ name: 'of alpha', stdin: '1' }],
    });
    await client.waitForGrading(grading_id);
    const { key } = await operator.create({ ...plain, expires_at: new Date(Date.now() + 3_600_000).toISOString() });
    await using opened = await open(`/gradings/${grading_id}`, { key: null });
    const { page } = opened;
    await page.clock.install();
    await signIn(opened, key);
    await page.getByRole('row', { name: 'of alpha' }).waitFor();
    await page.clock.fastForward(3_600_000);
    await page.getByRole('dialog', { name: 'Your key has expired' }).waitFor();
    await signIn(opened, rig().beta.key);
    await page.getByText('There is no grading with this id for your tenant.').waitFor();
    expect(await page.getByText('of alpha').count()).toBe(0);
  });

  test("another tenant's key clears the list of jobs from the page", async () => {
    const { job_id } = await rig().run({ language: 'bash', code: 'echo secret of alpha' });
    const { key, credential_id } = await operator.create(plain);
    await using opened = await open('/jobs', { key });
    await opened.page.getByRole('link', { name: job_id }).waitFor();
    await operator.revoke({ credential_id });
    await opened.page.getByRole('dialog').waitFor();
    await signIn(opened, rig().beta.key);
    await opened.page.getByText('No jobs yet.').waitFor();
    expect(await opened.page.getByText(job_id).count()).toBe(0);
  });
});

/** The timeout for fifty pages in a row on a machine that may be busy. */
const FIFTY_PAGES = { timeout: 90_000 };

describe('large jobs and long lists', () => {
  test('a page that shows a job with 20,000 lines of output has fewer than 200 lines in its DOM', async () => {
    const code = 'for i in $(seq 10000); do echo "out $i"; echo "err $i" >&2; done';
    const { job_id } = await rig().run({ language: 'bash', code });
    await using opened = await open(`/jobs/${job_id}`);
    const { page } = opened;
    await page.getByText('20,000 lines').waitFor();
    expect(await page.locator('.output-line').count()).toBeLessThan(200);
    await page.getByRole('button', { name: 'stderr', exact: true }).click();
    await page.getByText('err 10000', { exact: true }).waitFor();
    expect(opened.troubles).toEqual([]);
  });

  test('100,000 lines of output can be read to their end, although this service keeps fewer', async () => {
    const { job_id } = await rig().run({ language: 'bash', code: 'true' });
    await using opened = await open('/jobs');
    const { page } = opened;
    const missing = { code: 'route_not_found', message: 'No such route.', request_id: 'none', retryable: false };
    await page.route('**/stream-ticket', (asked) => asked.fulfill({ status: 404, json: { error: missing } }));
    await page.route('**/replay?*', (asked) => {
      const after = Number(new URL(asked.request().url()).searchParams.get('after') ?? 0);
      return asked.fulfill({ json: pageOfLines(job_id, after, 100_000) });
    });
    await page.getByRole('link', { name: job_id }).click();
    await page.getByText('100,000 lines').waitFor();
    await page.getByText('line 100000', { exact: true }).waitFor();
    expect(await page.locator('.output-line').count()).toBeLessThan(200);
    await page.getByLabel('Lines of output').focus();
    // The pane may still be scrolling to the end when the first key is pressed.
    await expect
      .poll(async () => {
        await page.keyboard.press('Home');
        return page.getByText('line 1', { exact: true }).count();
      })
      .toBe(1);
  });

  test('a list of 10,000 jobs can be read to its end, with few of them in the page at once', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'svc-rig-'));
    await fillStore(dataDir, 10_000, 1);
    const many = await Rig.start({ 'legacy-keys': 'bench=key-of-bench' }, dataDir);
    try {
      await using opened = await openDashboard(browser, { url: many.service.url }, { key: 'key-of-bench' });
      const { page } = opened;
      await page.getByText('200 newest jobs loaded').waitFor();
      const isAll = () => page.getByText(/^10,0\d\d jobs$/).count();
      await expect
        .poll(async () => {
          await page.keyboard.press('End');
          return isAll();
        }, FIFTY_PAGES)
        .toBe(1);
      expect(await page.locator('.job-body').count()).toBeLessThan(120);
      expect(opened.troubles).toEqual([]);
    } finally {
      await many.stop();
    }
  });
});

describe('a hostile program', () => {
  let opened: WatchedPage;
  beforeAll(async () => {
    opened = await open('/jobs');
    await opened.page.evaluate('window.hostile = () => { window.hasRun = true; }');
  });
  afterAll(() => opened[Symbol.asyncDispose]());

  test.each(HOSTILE_TEXTS)('cannot run a script in the page or add an element to it with %s', async (_name, text) => {
    const { page, requests, troubles } = opened;
    const code =
      'import os, sys\nprint(sys.argv[1]); print(sys.argv[1], file=sys.stderr)\nos.makedirs("output", exist_ok=True)\n';
    const named = `${code}try: open("output/" + sys.argv[1].replace("/", "_")[:100], "w").write(sys.argv[1])\nexcept Exception: pass\nprint("written")`;
    const { job_id } = await rig().run({
      language: 'python',
      code: `${named}\n# ${text.replaceAll('\n', ' ')}`,
      args: [text],
      stdin: text,
      env: { HOSTILE: text },
      outputs: ['output/**'],
    });
    await page.getByLabel('Job id or label').fill(job_id);
    await page.getByRole('button', { name: 'Open job' }).click();
    await page.getByText('written', { exact: true }).waitFor();
    await page.getByText('The program ended by itself').waitFor();
    await openFolds(page);
    for (const button of await page.locator('.output-line').all()) await button.hover();
    const strange = await page
      .locator('.page')
      .locator('script, iframe, object, embed, svg, math, style, img, base, form:not(.field)')
      .count();
    expect(strange).toBe(0);
    expect(await page.evaluate('window.hasRun === true')).toBe(false);
    expect(requests.filter((address) => address.includes('hostile'))).toEqual([]);
    expect(troubles).toEqual([]);
    await page.getByRole('link', { name: 'Jobs', exact: true }).click();
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
  });
});

describe('an attestation that was tampered with', () => {
  const flipped = (text: string) => {
    const place = Math.floor(text.length / 2);
    return text.slice(0, place) + (text[place] === 'A' ? 'B' : 'A') + text.slice(place + 1);
  };

  test.each([
    [
      'another signature',
      '**/attestation',
      (text: string) => text.replace(/"sig":"(.)/, (_all, first: string) => `"sig":"${first === 'A' ? 'B' : 'A'}`),
      'Broken: signature',
    ],
    [
      'another statement',
      '**/attestation',
      (text: string) =>
        text.replace(/"payload":"([^"]*)"/, (_all, payload: string) => `"payload":"${flipped(payload)}"`),
      'Broken: signature',
    ],
    [
      'another result',
      '**/result-artifact',
      (text: string) => text.replace('genuine', 'forgery'),
      'Broken: subject_digest',
    ],
    ['another event', '**/replay?*', (text: string) => text.replace('genuine', 'forgery'), 'Broken: chain'],
  ])('is shown as broken, with the check that fails, for %s', async (_name, route, tamper, verdict) => {
    const { job_id } = await rig().run({ language: 'bash', code: 'echo genuine' });
    const { public_key_pem } = await rig().alpha.client.publicKey();
    await using opened = await open(`/jobs/${job_id}`);
    const { page } = opened;
    await openFold(page, 'Attestation');
    await page.getByText('The record is whole').waitFor();
    await page.route(route, async (intercepted) => {
      const answer = await intercepted.fetch();
      const body = tamper(await answer.text());
      const { createHash } = await import('node:crypto');
      const sha256 = createHash('sha256').update(body).digest('hex');
      await intercepted.fulfill({
        response: answer,
        body,
        headers: { ...answer.headers(), 'x-content-sha256': sha256 },
      });
    });
    await page.getByLabel('Public key to pin').fill(public_key_pem);
    await page.getByRole('button', { name: 'Pin this key' }).click();
    await page.getByText(verdict).first().waitFor();
    expect(await page.getByText('A pinned key signed this result').count()).toBe(0);
    expect(await accessibilityProblems(page)).toEqual([]);
  });
});

describe('a record that was tampered with', () => {
  test('is shown as broken, together with its first bad event, even before any key is pinned', async () => {
    const { job_id } = await rig().run({ language: 'bash', code: 'echo genuine' });
    await using opened = await open('/jobs');
    const { page } = opened;
    await page.route('**/replay?*', async (intercepted) => {
      const answer = await intercepted.fetch();
      await intercepted.fulfill({ response: answer, body: (await answer.text()).replace('genuine', 'forgery') });
    });
    await page.getByRole('link', { name: job_id }).click();
    await page.getByText('Broken: chain').first().waitFor();
    await page.getByText('does not hold').first().waitFor();
    expect(await page.getByText('The record is whole').count()).toBe(0);
    expect(await accessibilityProblems(page)).toEqual([]);
  });
});

describe('without errors in the console', () => {
  test.each(['light', 'dark'] as const)(
    'a job’s page opens in %s colours without an error in the console',
    async (colorScheme) => {
      const { job_id } = await rig().run({ language: 'python', code: ILLUSTRATED, outputs: ['output/**'] });
      await using opened = await open(`/jobs/${job_id}`, { colorScheme, viewport: { width: 1200, height: 750 } });
      const { page } = opened;
      await page.getByText('no network').first().waitFor();
      await page.getByText('step 5').waitFor();
      expect(opened.troubles).toEqual([]);
    },
  );

  test('the playground opens on a phone without an error in the console', async () => {
    await using opened = await open('/playground', { viewport: { width: 360, height: 740 } });
    await opened.page.locator('.cm-content').waitFor();
    expect(opened.troubles).toEqual([]);
  });
});
