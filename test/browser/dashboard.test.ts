/** The built dashboard, served by a service, in Chromium: signing in, the list, a job and its attestation. */

import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseLogProof } from '@vouchbox/evidence';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { accessibilityProblems, type Browser, openBrowser } from '../rig/browser.ts';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { useRig } from '../rig/rig.ts';
import { drop, openDashboard, openFold, openOptions, signIn } from './open-dashboard.ts';

const built = join(import.meta.dirname, '../../packages/server/pages/dashboard');
/** How many bytes all files together may have, as they are sent. */
const bytesMax = 362_000;

const rig = useRig({ 'attestation-mode': 'on', 'log-host': 'log.example' });
let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

describe('the dashboard', () => {
  test('has at most 362 kB, including everything that it ever loads', () => {
    const names = globSync('**/*.{html,js,css}', { cwd: built });
    const sent = names.map((name) => {
      const compressed = statSync(join(built, `${name}.gz`), { throwIfNoEntry: false });
      return (compressed ?? statSync(join(built, name))).size;
    });
    expect(names).toContain('index.html');
    expect(sent.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(bytesMax);
  });

  test('has a shell that anyone may read and that contains no secret', { tags: ['Endpoints-7'] }, async () => {
    const shell = await rig().request('/dashboard', { key: null });
    const [, script = ''] = /src="([^"]+)"/.exec(shell.text) ?? [];
    const main = await rig().request(script, { key: null });
    expect([shell.status, main.status]).toEqual([200, 200]);
    for (const { key } of [rig().alpha, rig().beta]) expect(shell.text + main.text).not.toContain(key);
  });

  slowTest(
    'asks for a key, explains why a wrong key is refused, and keeps the right key out of addresses and storage',
    async () => {
      const { url } = rig().service;
      await using opened = await openDashboard(browser, { url }, { key: 'key-of-nobody' });
      const { page, requests } = opened;
      await expect.poll(() => page.getByRole('alert').textContent()).toContain('does not accept this key');
      expect(await accessibilityProblems(page)).toEqual([]);
      await signIn(opened, rig().alpha.key);
      await page.getByRole('heading', { name: 'Jobs' }).waitFor();
      expect(requests.filter((address) => address.includes('key-of-'))).toEqual([]);
      const stored = await page.evaluate(
        'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
      );
      expect(stored).not.toContain('key-of-');
    },
  );

  slowTest('lists jobs, opens one, and shows its output and posture', async () => {
    const { job_id } = await rig().run({ language: 'python', code: "print('\\x1b[31mred\\x1b[0m plain')" });
    await using opened = await openDashboard(browser, { url: rig().service.url });
    const { page, troubles } = opened;
    await page.getByRole('link', { name: job_id }).click();
    await page.getByText('red', { exact: true }).waitFor();
    expect(await page.getByText('red', { exact: true }).getAttribute('class')).toBe('ansi-red');
    await openFold(page, 'What held the program');
    await page.getByText('could reach no other host').waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(troubles).toEqual([]);
  });

  slowTest(
    'lists only jobs with the chosen statuses and language, and so does a page that is opened at the same address',
    async () => {
      const { beta, service } = rig();
      const run = async (language: 'bash' | 'python', code: string) =>
        (await rig().run({ language, code }, beta)).job_id;
      const done = await run('bash', 'true');
      const failed = await run('bash', 'exit 3');
      const failedPython = await run('python', 'raise SystemExit(3)');
      await using opened = await openDashboard(browser, { url: service.url }, { key: beta.key });
      const { page, troubles } = opened;
      const shows = (...ids: string[]) =>
        expect.poll(() => page.locator('.job-body').getByRole('link').allTextContents()).toEqual(ids);
      const status = (name: string) => page.getByRole('button', { name, exact: true });
      await shows(failedPython, failed, done);
      await status('failed').click();
      await shows(failedPython, failed);
      await page.getByLabel('Language').selectOption('bash');
      await shows(failed);
      await status('succeeded').click();
      await shows(failed, done);
      const address = new URL(page.url());
      expect(Object.fromEntries(address.searchParams)).toEqual({ status: 'failed,succeeded', language: 'bash' });
      await using again = await openDashboard(
        browser,
        { url: service.url, view: `/jobs${address.search}` },
        { key: beta.key },
      );
      await expect
        .poll(() => again.page.locator('.job-body').getByRole('link').allTextContents())
        .toEqual([failed, done]);
      expect(await again.page.getByLabel('Language').inputValue()).toBe('bash');
      await status('succeeded').click();
      await status('failed').click();
      await page.getByLabel('Language').selectOption('');
      await shows(failedPython, failed, done);
      expect(new URL(page.url()).search).toBe('');
      expect(troubles).toEqual([]);
    },
  );

  slowTest(
    "shows which inputs are other jobs' outputs, links to those jobs, and runs the shown job again",
    async () => {
      const made = await rig().run({ language: 'bash', code: 'echo made > output/made', outputs: ['output/made'] });
      const from = { job_id: made.job_id, path: 'output/made' };
      const { job_id } = await rig().run({ language: 'bash', code: 'cat input/a', files: [{ path: 'input/a', from }] });
      await using opened = await openDashboard(browser, { url: rig().service.url, view: `/jobs/${job_id}` });
      const { page, troubles } = opened;
      await openFold(page, 'Program');
      await page.getByRole('link', { name: `output/made of ${made.job_id}` }).waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      await page.getByRole('button', { name: 'Run again' }).click();
      await page.waitForURL((url) => url.pathname.includes('/jobs/') && !url.pathname.endsWith(job_id));
      await page.getByText('made', { exact: true }).waitFor();
      await page.getByRole('link', { name: `of ${made.job_id}` }).click();
      await page.waitForURL(`**/jobs/${made.job_id}`);
      expect(troubles).toEqual([]);
    },
  );

  slowTest("saves a large output, and copies a job's whole request into the playground for editing", async () => {
    const code = "head -c 3000000 /dev/zero > output/large; printf '\\xff'";
    const large_outputs = { paths: ['output/large'], stdout: 'output/all' };
    const asked = {
      large_outputs: { ...large_outputs, max_bytes: 4_000_000 },
      reproducible: true,
      requirements: { enforced: ['wall_seconds' as const] },
      args: ['', 'two\nlines', '"quoted"'],
      env: { PEM: '-----BEGIN-----\nAA==\n-----END-----\n' },
      labels: ['shown', 'two words'],
      sign_labels: true as const,
    };
    const { job_id } = await rig().run({ language: 'bash', code, ...asked });
    await using opened = await openDashboard(browser, { url: rig().service.url, view: `/jobs/${job_id}` });
    const { page, troubles } = opened;
    const bytesOf = async (name: string) => {
      const button = page.getByRole('button', { name: `Save ${name}` });
      const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
      return statSync(await download.path()).size;
    };
    expect(await bytesOf('output/large')).toBe(3_000_000);
    expect(await bytesOf('output/all')).toBe(1);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole('button', { name: 'Edit' }).click();
    expect(await page.getByLabel('Large outputs').inputValue()).toBe('output/large');
    expect(await page.getByLabel('File for all of stdout').inputValue()).toBe('output/all');
    expect(await page.getByLabel('Hash seeds').inputValue()).toBe('fixed');
    await page.locator('.cm-content').waitFor();
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.getByRole('link', { name: 'Open job' }).click();
    expect(await bytesOf('output/large')).toBe(3_000_000);
    expect(page.url()).not.toContain(job_id);
    const again = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    expect((await rig().alpha.client.detail(again)).requested_spec).toMatchObject(asked);
    expect(troubles).toEqual([]);
  });

  slowTest('lists the members of an edited job that the form keeps, and lets a person leave one out', async () => {
    const code = 'echo made > output/made';
    const { job_id } = await rig().run({ language: 'bash', code, outputs: ['output/made'], promise: true });
    await using opened = await openDashboard(browser, { url: rig().service.url, view: `/jobs/${job_id}` });
    const { page, troubles } = opened;
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByText(/^files to bring back, .*promise$/).waitFor();
    expect(await page.getByLabel('Files to bring back').inputValue()).toBe('output/made');
    await page.getByRole('button', { name: 'Leave out promise' }).click();
    await page.getByText(/^files to bring back, (?!.*promise)/).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(troubles).toEqual([]);
  });

  slowTest('links from one job in a pair to the other, and runs both again', async () => {
    const { client } = rig().alpha;
    const interactor = { language: 'python', code: 'print(int(input()) * 2, flush=True)' };
    const code = 'print(21, flush=True)\nprint("it said", input())';
    const { job_id, interaction } = await client.submit({ language: 'python', code, interactor });
    const peer = interaction?.peer ?? '';
    await client.waitForResult(peer);
    await using opened = await openDashboard(browser, { url: rig().service.url, view: `/jobs/${job_id}` });
    const { page, troubles } = opened;
    await page.getByText('it said 42', { exact: true }).waitFor();
    await openFold(page, 'Details');
    await page.getByRole('link', { name: `the interactor, ${peer}` }).click();
    await page.getByRole('link', { name: `the program, ${job_id}` }).waitFor();
    await page.getByRole('button', { name: 'Run again' }).click();
    await page.getByText('it said 42', { exact: true }).waitFor();
    expect([job_id, peer].filter((id) => page.url().includes(id))).toEqual([]);
    expect(troubles).toEqual([]);
  });

  slowTest("offers to run a session's step outside its session, and explains what that means", async () => {
    const { client } = rig().alpha;
    const step = async (after: string | null, code: string) =>
      (await rig().run({ language: 'python', code, session: { name: 'shown', after }, outputs: ['output/**'] })).job_id;
    const first = await step(null, 'x = 41');
    const job_id = await step(first, 'print(globals().get("x", "nothing before"))');
    await using opened = await openDashboard(browser, { url: rig().service.url, view: `/jobs/${job_id}` });
    const { page, troubles } = opened;
    await page.getByText('41', { exact: true }).waitFor();
    await page.getByText(/^A step of the session shown\. .* begins with none of the variables and files/).waitFor();
    expect(await page.getByRole('button', { name: 'Run again' }).count()).toBe(0);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole('button', { name: 'Run without its session' }).click();
    await page.getByText('nothing before', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Run again' }).waitFor();
    const alone = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    const { files, outputs, session, large_outputs } = (await client.detail(alone)).requested_spec;
    expect({ files, outputs, session, large_outputs }).toEqual({ files: [], outputs: ['output/**'] });
    expect((await client.sessions()).items).toMatchObject([{ name: 'shown', last_job_id: job_id }]);
    expect(troubles).toEqual([]);
  });

  slowTest('does not offer to run a job again if its input cannot be named', async () => {
    const { client } = rig().alpha;
    const checker = { language: 'python', code: 'raise SystemExit(0)' };
    const tests = [{ name: 'one', stdin: '1', expected: 'x'.repeat(100_000) }];
    await client.grade({ language: 'bash', code: 'cat' }, { tests, checker });
    const { items } = await client.list({ limit: 3 });
    const details = await Promise.all(items.map((job) => client.detail(job.job_id)));
    const given = details.find(({ requested_spec }) => requested_spec.files?.some((file) => 'held' in file));
    await using opened = await openDashboard(browser, { url: rig().service.url, view: `/jobs/${given?.job_id}` });
    await opened.page.getByRole('button', { name: 'Hand it on' }).waitFor();
    expect(await opened.page.getByRole('button', { name: 'Run again' }).count()).toBe(0);
    expect(opened.troubles).toEqual([]);
  });

  slowTest('verifies an attestation in the page against a pinned key, in a separate thread', async () => {
    const { job_id } = await rig().run({ language: 'python', code: "print('signed')" });
    const { public_key_pem } = await rig().alpha.client.publicKey();
    await using opened = await openDashboard(browser, { url: rig().service.url, view: `/jobs/${job_id}` });
    const { page, troubles } = opened;
    await page.route('**/canary', async (asked) =>
      asked.fulfill({ response: await asked.fetch({ url: asked.request().url().replace('canary', 'attestation') }) }),
    );
    await openFold(page, 'Attestation');
    const { finished_at } = await rig().alpha.client.detail(job_id);
    const ended = page.getByText(/^Its canary, which ended at/).locator('time');
    expect(await ended.getAttribute('datetime')).toBe(finished_at);
    await page.getByText('The record is whole').waitFor();
    await page.getByLabel('Public key to pin').fill(public_key_pem);
    const started = page.waitForEvent('worker');
    await page.getByRole('button', { name: 'Pin this key' }).click();
    expect((await started).url()).toContain('/dashboard/assets/check-worker-');
    await page.getByText('A pinned key signed this result as it is here.').waitFor();
    expect(troubles).toEqual([]);
  });

  slowTest(
    'says in each of a job’s states whether a signature will follow, and shows a signature that comes late',
    async () => {
      const { client } = rig().alpha;
      const { job_id } = await client.submit({ language: 'bash', code: 'sleep 200', limits: { wall_seconds: 300 } });
      await using opened = await openDashboard(browser, { url: rig().service.url, view: `/jobs/${job_id}` });
      const { page, troubles } = opened;
      let isLate = true;
      await page.route(`**/v1/jobs/${job_id}`, async (asked) => {
        const response = await asked.fetch();
        const json = (await response.json()) as { attestation: object };
        const attestation = { ...json.attestation, available: false, key_id: null, result_sha256: null };
        await asked.fulfill(isLate ? { response, json: { ...json, attestation } } : { response });
      });
      const fold = page.getByRole('region', { name: 'Attestation' });
      await page.getByRole('button', { name: 'More: Attestation' }).click();
      await fold.getByText('It is signed when it has ended.').waitFor();
      await client.cancel(job_id);
      await fold.getByText('not signed yet').waitFor();
      isLate = false;
      await fold.getByText('The record is whole').waitFor();
      expect(troubles).toEqual([]);
    },
  );

  slowTest(
    "shows a result's place in the transparency log, says that no witness confirmed it, and saves the proof",
    async () => {
      const { job_id } = await rig().run({ language: 'python', code: "print('logged')" });
      await using opened = await openDashboard(browser, { url: rig().service.url, view: `/jobs/${job_id}` });
      const { page } = opened;
      await openFold(page, 'Transparency log');
      await page.getByText('log.example/log/1', { exact: true }).waitFor();
      await page.getByText(/^UNWITNESSED/).waitFor();
      const place = await page.getByText(/^statement \d+, under a head of/).textContent();
      const saved = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Save the proof' }).click();
      const file = await saved;
      expect(file.suggestedFilename()).toBe(`${job_id}.tlog-proof`);
      const parsed = parseLogProof(readFileSync(await file.path()));
      if (parsed.kind === 'refused') throw new Error(parsed.reason);
      expect(place).toContain(`statement ${parsed.proof.index},`);
      expect(await accessibilityProblems(page)).toEqual([]);
    },
  );

  slowTest(
    'adds an input file while a slower file is still being read, and names a file that cannot be read',
    async () => {
      await using opened = await openDashboard(browser, { url: rig().service.url, view: '/playground' });
      const { page, troubles } = opened;
      await openOptions(page);
      const names = page.locator('.drop-name');
      const choose = (name: string) =>
        page.getByLabel('Choose files').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(name) });
      await page.evaluate(() => {
        const { promise, resolve } = Promise.withResolvers<void>();
        Object.assign(window, { release: resolve });
        Blob.prototype.arrayBuffer = async function (this: File) {
          if (this.name === 'slow') await promise;
          return new Response(this).arrayBuffer();
        };
      });
      await choose('slow');
      await choose('fast');
      await expect.poll(() => names.allTextContents()).toEqual(['input/fast']);
      await page.evaluate('release()');
      await expect.poll(() => names.allTextContents()).toEqual(['input/fast', 'input/slow']);
      await drop(page.getByRole('group', { name: 'Input files' }), import.meta.dirname);
      await page.getByRole('alert').getByText('browser cannot be read.', { exact: true }).waitFor();
      expect(troubles).toEqual([]);
    },
  );

  test('pins a key from a file, accepts the same file a second time, and says that a directory cannot be read', async () => {
    const { job_id } = await rig().run({ language: 'python', code: "print('signed')" });
    const { public_key_pem } = await rig().alpha.client.publicKey();
    await using opened = await openDashboard(browser, { url: rig().service.url, view: `/jobs/${job_id}` });
    const { page, troubles } = opened;
    await openFold(page, 'Attestation');
    await drop(page.getByLabel('Public key to pin'), import.meta.dirname);
    await page.getByRole('alert').getByText('browser cannot be read.', { exact: true }).waitFor();
    const file = { name: 'key.pem', mimeType: 'text/plain', buffer: Buffer.from(public_key_pem) };
    await page.getByLabel('Choose a file').setInputFiles(file);
    await page.getByText('Pinned:').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    // A browser reports no change if a file with the same name is already chosen.
    expect(await page.getByLabel('Choose a file').inputValue()).toBe('');
    expect(troubles).toEqual([]);
  });

  slowTest(
    'if a proxy answers a request for a result with 404, reports that something other than the service answered',
    async () => {
      const { job_id } = await rig().run({ language: 'bash', code: 'echo a > output/a', outputs: ['output/a'] });
      await using opened = await openDashboard(browser, { url: rig().service.url });
      const { page } = opened;
      await page.route(/\/(result|replay)\b/, (asked) => asked.fulfill({ status: 404, body: '<h1>Not Found</h1>' }));
      await page.getByRole('link', { name: job_id }).click();
      await page.getByText('Something other than the service answered.').first().waitFor();
      expect(await page.getByText('is not a function').count()).toBe(0);
    },
  );

  slowTest('runs the program typed in the playground, and keeps it while another view is open', async () => {
    await using opened = await openDashboard(browser, { url: rig().service.url, view: '/playground' });
    const { page, troubles } = opened;
    const editor = page.getByRole('textbox', { name: 'Program', exact: true });
    await page.locator('.cm-content').waitFor();
    // Types the text, since `fill` would change the page without the editor: Chromium would then apply a forbidden style.
    await editor.press('Control+A');
    await editor.press('Delete');
    await page.keyboard.type("import sys; print('typed', sys.stdin.read())");
    await page.getByLabel('stdin').fill('and read');
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.getByText('typed and read', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Status' }).click();
    await page.getByRole('heading', { name: 'The last hour' }).waitFor();
    await page.getByRole('link', { name: 'Playground' }).click();
    await expect.poll(() => editor.textContent()).toContain("print('typed', sys.stdin.read())");
    expect(await page.getByLabel('stdin').inputValue()).toBe('and read');
    // Checked before axe runs, because axe adds a style to look into the editor, and the policy refuses that style.
    expect(troubles).toEqual([]);
    expect(await accessibilityProblems(page)).toEqual([]);
  });
});
