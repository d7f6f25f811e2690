/** The documents' pictures show what the pages show today: a job in the dashboard, a good result and a changed result. */
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { EXPORT_FILES, EXPORT_MANIFEST, exportManifest } from '@vouchbox/evidence';
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest';
import { attestedJob, exportOf, line } from '../../packages/verifier/test/attested-job.ts';
import { type Browser, openBrowser, openPage, type Page } from '../rig/browser.ts';
import { useRig } from '../rig/rig.ts';
import { openDashboard, openFold } from './open-dashboard.ts';
import { differenceOf, differingMax, hasLetters, images, problemOf, takePicture } from './picture.ts';
import { giveExport, giveKey, verdictOf, verifyPage } from './verify-page.ts';

const root = join(import.meta.dirname, '../..');
/** Every picture in the documents that these tests take. The other pictures are drawings, in text files. */
const TAKEN = ['dashboard-light.png', 'verify-light.png', 'verify-tampered.png'];
/** The largest size of a picture that a reader must load. */
const pictureBytesMax = 100_000;

const rig = useRig({ 'attestation-mode': 'on' });
let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

const LOOK = { colorScheme: 'light', locale: 'en-US', timezoneId: 'UTC' } as const;

/** Skips a test on a machine that lacks the fonts, and says why. */
async function needLetters(page: Page, { skip }: TestContext): Promise<void> {
  skip(
    !(await hasLetters(page)),
    'the letters of the pictures are those of fonts-dejavu-core, which this machine lacks',
  );
}

/** The tutorial's program. */
const MEAN = `rows = [line.split(',') for line in open('input/cities.csv')]
mean = sum(float(degrees) for _, degrees in rows) / len(rows)
print(f'{len(rows)} cities, {mean:.2f} °C on average')
with open('output/warm.csv', 'w') as warm:
    warm.writelines(','.join(row) for row in rows if float(row[1]) > mean)
`;
const CITIES = Buffer.from('Oslo,-3.5\nCairo,21.0\nQuito,14.5\n').toString('base64');

test('the picture of a job in the dashboard equals the page', async (context) => {
  const { job_id } = await rig().run({
    language: 'python',
    code: MEAN,
    files: [{ path: 'input/cities.csv', content_base64: CITIES }],
    outputs: ['output/**'],
  });
  const { public_key_pem } = await rig().alpha.client.publicKey();
  const look = { ...LOOK, viewport: { width: 1200, height: 640 } };
  await using opened = await openDashboard(browser, { url: rig().service.url, view: `/jobs/${job_id}` }, look);
  const { page } = opened;
  await needLetters(page, context);
  await openFold(page, 'Attestation');
  await page.getByLabel('Public key to pin').fill(public_key_pem);
  await page.getByRole('button', { name: 'Pin this key' }).click();
  await page.getByText('A pinned key signed this result as it is here.').waitFor();
  await page.locator('[data-fold="Attestation"]').click();
  await page.getByText('3 cities, 10.67 °C on average').waitFor();
  await page.getByText('Service ready').waitFor();
  expect(problemOf('dashboard-light.png', await takePicture(page))).toBeNull();
});

const job = attestedJob({
  code: 'import json, sys\n\nnumbers = [int(line) for line in open("input/numbers.txt")]\nprint(json.dumps({"sum": sum(numbers)}))\n',
  inputs: { 'input/numbers.txt': '20\n22\n' },
  outputs: { 'output/report/summary.txt': 'sum 42\n' },
  bodies: [
    line('stdout', 'reading input/numbers.txt'),
    line('stdout', '{"sum": 42}'),
    line('stderr', 'one warning'),
    line('stdout', 'done'),
  ],
});

/** A forged export: its events have another sum, and its unsigned manifest lists the changed file. */
function forged(): Map<string, Uint8Array> {
  const text = new TextDecoder()
    .decode(job.files.get(EXPORT_FILES.events))
    .replace('{\\"sum\\": 42}', '{\\"sum\\": 43}');
  const files = new Map([...job.files, [EXPORT_FILES.events, new TextEncoder().encode(text)] as const]);
  return new Map([...files, [EXPORT_MANIFEST, exportManifest(job, files)]]);
}

const RESULTS = [
  ['a good result, and what held it', 'verify-light.png', { verdict: 'good', files: exportOf(job), height: 1000 }],
  ['a changed result', 'verify-tampered.png', { verdict: 'refused', files: forged(), height: 920 }],
] as const;

test.for(RESULTS)(
  'the picture of the page that verifies equals the page: %s',
  async ([, file, { verdict, files, height }], context) => {
    await using opened = await openPage(browser, verifyPage.href, { ...LOOK, viewport: { width: 1000, height } });
    const { page } = opened;
    await needLetters(page, context);
    await giveKey(page, job.key.publicKeyPem);
    await giveExport(page, files);
    await verdictOf(page, verdict);
    expect(problemOf(file, await takePicture(page))).toBeNull();
  },
);

test('a picture is reported as different if a single word or the font differs', async (context) => {
  await using opened = await openPage(browser, verifyPage.href, { ...LOOK, viewport: { width: 1000, height: 1100 } });
  const { page } = opened;
  await needLetters(page, context);
  const before = await takePicture(page);
  expect(differenceOf(before, await takePicture(page))).toBe(0);
  await page
    .locator('#limits strong')
    .first()
    .evaluate((words) => {
      words.textContent = 'That the program failed.';
    });
  expect(differenceOf(before, await takePicture(page))).toBeGreaterThan(differingMax);
  await page.evaluate(() => {
    document.documentElement.style.fontFamily = '"DejaVu Serif"';
  });
  expect(differenceOf(before, await takePicture(page))).toBeGreaterThan(10 * differingMax);
});

test('every picture in docs/images is taken by these tests, is small, and appears in a document', () => {
  expect(new Set(globSync('**/*.png', { cwd: images }))).toEqual(new Set(TAKEN));
  for (const name of TAKEN) expect(statSync(join(images, name)).size).toBeLessThanOrEqual(pictureBytesMax);
  const documents = globSync(['*.md', '{docs,clients,examples,packages}/**/*.md'], {
    cwd: root,
    exclude: ['**/node_modules'],
  });
  const shown = documents.flatMap((path) => [
    ...readFileSync(join(root, path), 'utf8').matchAll(/!\[[^\]]+\]\([^)]*?([^/)]+\.png)\)/g),
  ]);
  expect(new Set(shown.map(([, name]) => name))).toEqual(new Set(TAKEN));
});
