/** The command, the library and the page check an exported job without the service, against a pinned key. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isTerminal } from '@vouchbox/protocol/vocabulary';
import { parseExport, verifyExport } from '@vouchbox/verifier';
import { zipOf } from '../../browser/archives.ts';
import { type Verdict, verdictOf, verifyPage } from '../../browser/verify-page.ts';
import { openBrowser, openPage, type Page } from '../../rig/browser.ts';
import { vouchbox } from '../../rig/command.ts';
import { type Caller, playCaller } from '../caller.ts';
import type { Crossing } from '../crossing.ts';
import { OF_EVERY_JOB, type Seen, textOf, typesOf } from '../facts.ts';
import { type OpenPlace, type Place, withoutOpening } from '../place.ts';
import { enclosed, outputIn } from '../readings.ts';
import { gradeByClient, verdictsOf } from './grade-by-client.ts';
import { cancelByClient, submitByClient } from './typescript-client.ts';

const SERVICE_VERIFY = join(import.meta.dirname, '../../../packages/verifier/bin/service-verify.mjs');

/** The directory of an exported job, and the tenant, job and key that the export must have. */
interface Exported {
  readonly directory: string;
  readonly job_id: string;
  readonly tenant: string;
  readonly publicKey: string;
}

/** @throws Error with the reason if the export is refused */
type Check = (exported: Exported) => Promise<void>;

/** Exports a job that has ended, and checks the export. Returns the facts that the export contains. */
async function read(crossing: Crossing, check: Check, job_id: string): Promise<Seen> {
  const { client, directory, service, signer: publicKey, tenant, key } = crossing;
  await client.waitForResult(job_id);
  // Each export gets a new directory, because the command never overwrites a directory.
  const target = mkdtempSync(join(directory, 'export-'));
  rmdirSync(target);
  writeFileSync(join(directory, 'signer.pem'), publicKey);
  const words = ['export', job_id, '--output', target, '--public-key', join(directory, 'signer.pem')];
  const env = { SERVICE_URL: service.url, SERVICE_KEY: key };
  const { code, stderr } = await vouchbox(words, { env });
  if (code !== 0) throw new Error(`the export ended with ${code}: ${stderr}`);
  await check({ directory: target, job_id, tenant, publicKey });
  return seenIn(target);
}

/** Every file below a directory, keyed by its path within the directory. */
function filesBelow(directory: string): Map<string, Uint8Array<ArrayBuffer>> {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => statSync(join(directory, name)).isFile());
  return new Map(files.map((name) => [name, new Uint8Array(readFileSync(join(directory, name)))]));
}

function seenIn(directory: string): Seen {
  const result = JSON.parse(readFileSync(join(directory, 'result.json'), 'utf8')) as Required<Seen>;
  if (!isTerminal(result.status)) throw new Error(`the exported job is ${String(result.status)}`);
  const { status, terminal_reason, exit_code, signal, stdout, stderr, truncated, violations } = result;
  const output = [...filesBelow(directory)].filter(([name]) => name.startsWith('output/'));
  return {
    status,
    terminal_reason,
    exit_code,
    signal,
    stdout,
    stderr,
    truncated,
    violations: typesOf(violations as unknown as { type: string }[]),
    files: Object.fromEntries(output.map(([name, bytes]) => [name, textOf(bytes)])),
  };
}

function callerWith(check: Check): Caller {
  return {
    run: async (crossing, idempotencyKey) =>
      await read(crossing, check, await submitByClient(crossing, idempotencyKey)),
    read: async (crossing, job_id) => await read(crossing, check, job_id),
    cancel: cancelByClient,
    // The export inside the saved page is checked like an export that the command wrote.
    readings: {
      evidence: async (crossing, job_id) => {
        const directory = await enclosed(crossing, job_id);
        await check({ directory, job_id, tenant: crossing.tenant, publicKey: crossing.signer });
        return outputIn(directory);
      },
    },
    grade: async (crossing) => verdictsOf(await read(crossing, check, await gradeByClient(crossing))),
  };
}

const byCommand: Check = async ({ directory, job_id, tenant, publicKey }) => {
  const pinned = `${directory}.pem`;
  writeFileSync(pinned, publicKey);
  const words = ['directory', directory, '--public-key', pinned, '--tenant', tenant, '--job', job_id];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  execFile(process.execPath, [SERVICE_VERIFY, ...words], (error, stdout, stderr) => {
    if (error === null) resolve();
    else reject(new Error(`service-verify ended with ${error.code}: ${stderr}${stdout.slice(0, 300)}`));
  });
  await promise;
};

const byLibrary: Check = async ({ directory, job_id, tenant, publicKey }) => {
  const expected = { publicKeys: [publicKey], tenant, job: job_id };
  const { exitCode, checks } = await verifyExport(parseExport(filesBelow(directory)), expected);
  const bad = checks.find(({ isGood }) => !isGood);
  if (exitCode !== 0) throw new Error(`the library refused it with ${exitCode}: ${bad?.name} ${bad?.detail}`);
};

const UNSIGNED = 'There is nothing to check: `vouchbox export` writes signed jobs alone.';

const OF_SERVICE = 'An export is of one job: what a service shows of its jobs is not in it.';

function exportColumn(title: string, open: Place['open']): Place {
  const place = { title, group: 'records', service: 'usual', shows: OF_EVERY_JOB } as const;
  return { ...place, except: { signing_off: UNSIGNED, listed: OF_SERVICE, counted: OF_SERVICE }, open };
}

const openedWith = (check: Check) =>
  withoutOpening({ play: async (crossing) => await playCaller(callerWith(check), crossing) });

export const exportByCommand = exportColumn('export, by command', openedWith(byCommand));
export const exportByLibrary = exportColumn('export, by library', openedWith(byLibrary));
export const exportByPage = exportColumn('export, by page', openPageColumn);

/** `verify.html` in a browser, opened from its file. */
async function openPageColumn(): Promise<OpenPlace> {
  const browser = await openBrowser();
  const byPage: Check = async ({ directory, publicKey }) => {
    await using opened = await openPage(browser, verifyPage.href);
    const { page } = opened;
    await page.fill('#key', publicKey);
    // The page gets the file from the disk, because Playwright limits the size of files that are passed in memory.
    const archive = `${directory}.zip`;
    writeFileSync(archive, zipOf(filesBelow(directory)));
    await page.setInputFiles('#choose-files', archive);
    const shown = await anyVerdict(page);
    if (shown[0] !== 'good') throw new Error(`the page says ${shown[0]}: ${shown[1].slice(0, 300)}`);
  };
  return {
    play: async (crossing) => await playCaller(callerWith(byPage), crossing),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

/** The first verdict that the page shows, and the verdict's words. */
async function anyVerdict(page: Page): Promise<readonly [Verdict, string]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly [Verdict, string]>();
  const waits = (['good', 'whole', 'unchecked', 'refused'] as const).map(async (verdict) =>
    resolve([verdict, await verdictOf(page, verdict)]),
  );
  // The waits for the other verdicts fail after a while, or when the page closes.
  void Promise.allSettled(waits).then(() => reject(new Error('the page showed no verdict')));
  return await promise;
}
