/** The built `verify.html`, in Chromium. docs/VERIFYING.md, in a browser. */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { EXPORT_MANIFEST, exportManifest, graphFile } from '@vouchbox/evidence';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttestedJob, attestedJob, exportOf, signingKey } from '../../packages/verifier/test/attested-job.ts';
import { accessibilityProblems, type Browser, openBrowser, openPage, type WatchedPage } from '../rig/browser.ts';
import { TestLog, testCosignature, testNoteKey } from '../rig/test-log.ts';
import { giveExport, giveKey, problemOf, textOf, verdictOf, verifyPage } from './verify-page.ts';

const pageBytesMax = 43 * 1024;

const LATER = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`later ${at}`, 'x'.repeat(1000)]));
const job = attestedJob({
  inputs: { 'input/a.txt': 'a' },
  outputs: { 'output/b.txt': 'b' },
  also: { canary: { age: 3 }, ...LATER },
});
let browser: Browser;
let opened: WatchedPage;

beforeAll(async () => {
  browser = await openBrowser();
  opened = await openPage(browser, verifyPage.href, { viewport: { width: 360, height: 740 } });
});
afterAll(async () => {
  await opened[Symbol.asyncDispose]();
  await browser.close();
});

test('the page has at most 43 kB compressed', () => {
  expect(gzipSync(readFileSync(verifyPage), { level: 9 }).length).toBeLessThanOrEqual(pageBytesMax);
});

/** Whether an element can be seen without scrolling down from the top. */
const isInWindow = (page: WatchedPage['page'], selector: string) =>
  page.locator(selector).evaluate((found) => found.getBoundingClientRect().bottom + scrollY <= innerHeight);

describe('the page, opened from a file on a phone', () => {
  test('says that nothing proves who signed, if it has no key', async () => {
    const { page } = opened;
    await giveExport(page, exportOf(job));
    expect(await verdictOf(page, 'whole')).toMatch(/^CONSISTENT, signer not checked/);
    expect(await textOf(page.locator('#verdict .unsigned'))).toContain('No key that you pinned signed it');
    expect(await page.getByRole('link', { name: 'Documents' }).count()).toBe(0);
  });

  test('shows a good export under the pinned key, with its chain, its posture and its output', async () => {
    const { page } = opened;
    await giveKey(page, job.key.publicKeyPem);
    expect(await verdictOf(page, 'good')).toContain(job.key.key_id);
    const summary = await textOf(page.locator('#verdict .summary'));
    expect(summary).toMatch(/Job number of its tenant\s*7\s*also\.canary\s*\{"age":3\}/);
    // The summary shows two known members. Of the 21 members unknown to this version, it shows 14 and counts 7.
    expect(summary).toMatch(/also\s*7 more/);
    expect(summary.length).toBeLessThan(10_000);
    expect(await page.title()).toContain('Signed, and unchanged');
    expect(await isInWindow(page, '#verdict-title')).toBe(true);
    expect(await page.locator('.ring').count()).toBe(job.events.length);
    expect(await textOf(page.locator('#posture'))).toContain('gVisor: a kernel of its own');
    expect(await textOf(page.locator('#output pre').first())).toBe('hello\n');
    expect(await page.locator('.check.failed').count()).toBe(0);
  });

  test('shows the content of a text file once its reader unfolds the file', async () => {
    const item = opened.page.locator('[data-path="output/b.txt"]');
    expect(await item.locator('pre').count()).toBe(0);
    await item.locator('summary').click();
    await item.locator('pre').waitFor();
    expect(await textOf(item.locator('pre'))).toBe('b');
  });

  test('saves a file of the export byte for byte', async () => {
    const { page } = opened;
    const download = page.waitForEvent('download');
    await page.locator('[data-path="output/b.txt"] button').click();
    expect(readFileSync(await (await download).path(), 'utf8')).toBe('b');
  });

  test('names the event that was changed, and draws the chain as broken at that event', async () => {
    const { page } = opened;
    const files = exportOf(job);
    const text = new TextDecoder().decode(files.get('events.ndjson')).replace('hello', 'hellO');
    await giveExport(page, files.set('events.ndjson', new TextEncoder().encode(text)));
    const words = await verdictOf(page, 'refused');
    expect(words).toContain('events.ndjson: its digest is');
    expect(words).toContain('events.ndjson: event 3: its event_hash does not follow from its members');
    const states = await page.locator('.ring').evaluateAll((rings) => rings.map((ring) => ring.className));
    expect(states.slice(0, 4)).toEqual(['ring follows', 'ring follows', 'ring broken', 'ring unknown']);
  });

  test("shows the log's verdict, with the log's key and a witness's key beside the signer's key", async () => {
    const { page } = opened;
    const log = new TestLog();
    const index = log.appendSigned(job.attestation.envelope, job.key.publicKeyPem);
    const witness = testNoteKey('witness.example', 'cosignature');
    const cosignatures = [testCosignature(witness, log.headText(), 1_800_000_000)];
    const logged = (proof: string) => {
      const files = new Map([...job.files, ['log.tlog-proof', new TextEncoder().encode(proof)] as const]);
      return new Map([...files, [EXPORT_MANIFEST, exportManifest(job, files)] as const]);
    };
    await giveKey(page, `${job.key.publicKeyPem}${log.key.text}\n${witness.text}\n`);
    await giveExport(page, logged(log.proof(index, { cosignatures })));
    expect(await verdictOf(page, 'good')).toContain('WITNESSED by witness.example at 2027-01-15T08:00:00Z');
    expect(await textOf(page.locator('#key-note'))).toContain('So is the log log.example/log/1, with 1 witness');
    await giveExport(page, logged(log.proof(0)));
    expect(await verdictOf(page, 'refused')).toContain('log.tlog-proof: the statement is not where the proof says');
    await giveKey(page, witness.text);
    expect(await textOf(page.locator('#key-note.problem'))).toContain('pin the key of the log too');
  });

  test('folds sections that are no longer needed, and shows no green marks if it refuses a result', async () => {
    const { page } = opened;
    await giveKey(page, job.key.publicKeyPem);
    await giveExport(page, exportOf(job));
    await verdictOf(page, 'good');
    const isOpen = (part: string) => page.locator(`#${part}`).evaluate((found) => (found as HTMLDetailsElement).open);
    await expect.poll(async () => [await isOpen('files-part'), await isOpen('key-part')]).toEqual([false, false]);
    const good = await page
      .locator('#posture .mark')
      .first()
      .evaluate((found) => getComputedStyle(found).color);
    await giveKey(page, signingKey().publicKeyPem);
    await verdictOf(page, 'refused');
    const refused = await page
      .locator('#posture .mark')
      .first()
      .evaluate((found) => getComputedStyle(found).color);
    expect(refused).not.toBe(good);
    expect(await textOf(page.locator('#posture'))).toContain('not to be trusted');
  });

  test('has one verdict for a text that is not a key, and another for a result that must not be trusted', async () => {
    const { page } = opened;
    await giveKey(page, 'my key');
    await giveExport(page, exportOf(job));
    const words = await verdictOf(page, 'no-key');
    expect(words).toContain('This is not a key');
    expect(words).not.toContain('Do not trust');
    await giveKey(page, `sha256:${'0'.repeat(64)}`);
    expect(await verdictOf(page, 'refused')).toContain('has another id');
    await giveKey(page, 'my key');
    await giveExport(page, exportOf(job).set('result.json', new TextEncoder().encode('{}')));
    await verdictOf(page, 'refused');
  });

  test('refuses an export that another key signed, and names that key', async () => {
    const { page } = opened;
    await giveKey(page, signingKey().publicKeyPem);
    await giveExport(page, exportOf(job));
    expect(await verdictOf(page, 'refused')).toContain(`the key in the export, ${job.key.key_id}, signed it`);
  });

  test('draws a job’s graph, and names missing and changed jobs', { tags: ['Inputs-7'] }, async () => {
    const { page } = opened;
    const made = attestedJob({ job_id: 'job_made', outputs: { 'output/made': 'made' } });
    const given = attestedJob({
      job_id: 'job_given',
      inputs: { 'input/a': 'made' },
      from: { 'input/a': { job_id: 'job_made', path: 'output/made' } },
    });
    const list = graphFile({ tenant: 'acme', job_id: 'job_given', missing: [] });
    const graph = (jobs: readonly AttestedJob[]) =>
      new Map([
        ['graph/graph.json', list],
        ...jobs.flatMap((one) =>
          Array.from(exportOf(one), ([path, bytes]) => [`graph/${one.job_id}/${path}`, bytes] as const),
        ),
      ]);
    await giveKey(page, given.key.publicKeyPem);
    await giveExport(page, graph([given, made]));
    expect(await verdictOf(page, 'good')).toContain('job_given');
    expect(await textOf(page.locator('#graph pre'))).toBe(
      'job_given  succeeded\n└─ input/a ← output/made of job_made  succeeded',
    );
    await giveExport(page, graph([given]));
    expect(await verdictOf(page, 'incomplete')).toContain('job_made: MISSING');
    const other = attestedJob({ job_id: 'job_made', outputs: { 'output/made': 'other' } });
    await giveExport(page, graph([given, other]));
    expect(await verdictOf(page, 'refused')).toContain('job_given input/a: ');
    expect(await textOf(page.locator('#graph pre'))).toContain('input/a ✗ output/made of job_made');
    await giveKey(page, '');
    await giveExport(page, graph([given, made]));
    await verdictOf(page, 'whole');
    await giveExport(page, graph([given]));
    expect(await verdictOf(page, 'whole')).toContain('job_made: MISSING');
    const ofProgram = exportOf(given);
    ofProgram.set('output/graph.json', graphFile({ tenant: 'acme', job_id: 'job_made', missing: [] }));
    for (const [path, bytes] of exportOf(made)) ofProgram.set(`output/job_made/${path}`, bytes);
    await giveExport(page, ofProgram);
    expect(await verdictOf(page, 'refused')).toContain('job_given');
    expect(await page.locator('#graph').count()).toBe(0);
    const unlisted = graph([given, made]);
    unlisted.delete('graph/graph.json');
    await giveExport(page, unlisted);
    expect(await problemOf(page)).toContain('These are the exports of several jobs');
    await giveExport(page, graph([made]));
    expect(await problemOf(page)).toContain('The job that graph.json is about is not here');
    await giveExport(page, graph([given, made]).set('graph/more', new Uint8Array()));
    expect(await problemOf(page)).toContain('more is beside graph.json');
    await giveKey(page, signingKey().publicKeyPem);
    await giveExport(page, graph([given, made]));
    await verdictOf(page, 'refused');
  });

  test('has no accessibility fault that axe finds, and fits the screen', async () => {
    const { page } = opened;
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  });

  test('requests only its own file, and violates no rule in its content security policy', () => {
    expect(opened.requests.filter((address) => !address.startsWith('blob:'))).toEqual([verifyPage.href]);
    expect(opened.troubles).toEqual([]);
  });
});
