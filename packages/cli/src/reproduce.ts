/**
 * `vouchbox reproduce`: gives another operator's service an exported job's program and input, exports the new job, and compares
 * the two exports. It sends the tools' answers from the first job, but no results of that job.
 */
import { readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { EvidenceFailure, type JobEvent, type ServiceClient } from '@vouchbox/client';
import { EXPORT_FILES, parsePublicKey } from '@vouchbox/evidence';
import {
  type AgreeReport,
  compareRuns,
  type ExportedJob,
  eventsOf,
  showText,
  verifyExport,
  wholeFile,
} from '@vouchbox/verifier';
import { readExportDirectory } from '@vouchbox/verifier/command';
import { CommandFailure } from './failures/command-failure.ts';
import { EXIT } from './failures/exit-code.ts';
import { writeExport } from './files/export-origin.ts';
import { checkNew, writeDirectory } from './files/new-directory.ts';
import { withUploads } from './files/upload-files.ts';
import { type AccessOptions, requireService } from './service/service-access.ts';
import { readFromService } from './service-export.ts';
import { keyFor, type Resubmission, submissionIn } from './submission/exported-submission.ts';
import { takeInterrupts, unlessInterrupted } from './terminal/interrupts.ts';
import { type JsonOption, note, printResult } from './terminal/print.ts';

export interface ReproduceOptions extends AccessOptions, JsonOption {
  readonly output?: string;
  /** The keys of both operators that the user pinned. */
  readonly publicKey: readonly string[];
  /** A build at the other service. The new job starts the product of this build. */
  readonly product?: string;
  /** The seconds within which the other service must answer everything. */
  readonly timeout: number;
}

/** Returns 0 if the two runs agree; otherwise, the exit code of `service-verify agree`. */
export async function reproduce(directory: string, options: ReproduceOptions): Promise<number> {
  using interrupts = takeInterrupts();
  const report = await unlessInterrupted(interrupts.asked, (signal) => compared(directory, options, signal));
  if (report !== null) return report.exitCode;
  note('interrupted: nothing was compared');
  return EXIT.cancelled;
}

async function compared(directory: string, options: ReproduceOptions, asked: AbortSignal): Promise<AgreeReport> {
  const target = options.output ?? beside(directory);
  const pinned = options.publicKey.map((file) => readFileSync(file, 'utf8'));
  const first = await verified(directory, pinned);
  const submitted = submissionIn(directory, first, { product: options.product });
  await checkNew(target);
  const publicKeys = pinnedOfService(pinned, first);
  const job_id = await exportedAgain(submitted, { first, target, publicKeys, options, asked });
  const second = readExportDirectory(target);
  const own = 'problem' in second ? [] : [publicKeyOf(first), publicKeyOf(second)];
  const report = await compareRuns(
    [
      { name: directory, exported: first },
      { name: target, exported: second },
    ],
    // Results that the first operator signed are not a second opinion.
    { publicKeys: pinned.length > 0 ? pinned : own, operatorsMin: 2 },
  );
  tell(report, { target, job_id, isPinned: pinned.length > 0 }, options);
  return report;
}

/** A directory beside the export, not in it, because an export may have no foreign files. */
function beside(directory: string): string {
  const whole = resolve(directory);
  return `${join(relative('', dirname(whole)), basename(whole))}-reproduced`;
}

interface Asking {
  readonly first: ExportedJob;
  readonly target: string;
  readonly publicKeys: readonly string[];
  readonly options: ReproduceOptions;
  readonly asked: AbortSignal;
}

/** Writes the new job's export and returns the job's id. Gives up after the timeout, however slowly the service answers. */
async function exportedAgain(
  { submission, stdin, libraries }: Resubmission,
  { first, target, publicKeys, options, asked }: Asking,
): Promise<string> {
  const deadline = AbortSignal.timeout(options.timeout * 1000);
  const signal = AbortSignal.any([asked, deadline]);
  let job: string | null = null;
  try {
    await using service = requireService(options);
    const { client } = service;
    const named = async (bytes: Uint8Array<ArrayBuffer>) => ({ blob: (await client.upload(bytes, { signal })).blob });
    const uploaded = {
      ...(stdin !== null && { stdin: await named(stdin) }),
      ...(libraries !== null && { libraries: await named(libraries) }),
    };
    const whole = await withUploads({ ...submission, ...uploaded }, client, { signal });
    const idempotencyKey = keyFor(first.manifest, { signer: publicKeyOf(first), product: options.product });
    const { job_id } = await client.submit(whole, { idempotencyKey, signal });
    job = job_id;
    if (!options.json) note(`job ${job_id}`);
    if (submission.tools !== undefined) await answered(job_id, { first, client, signal });
    await client.waitForResult(job_id, { signal });
    const origin = await readFromService(job_id, client, { publicKeys, signal });
    await writeDirectory(target, (writable) => writeExport(writable, origin, { program: 'kept' }));
    return job_id;
  } catch (error) {
    if (deadline.aborted && !asked.aborted) throw late(job, options);
    throw error;
  }
}

interface Answering {
  readonly first: ExportedJob;
  readonly client: ServiceClient;
  readonly signal: AbortSignal;
}

/**
 * Answers the new job's tool calls with the answers from the first job. The first difference ends the new job and is reported.
 * The comparison shows all further differences.
 */
async function answered(job_id: string, { first, client, signal }: Answering): Promise<void> {
  try {
    await client.answerToolCalls(job_id, { replay: eventsOf(first) as readonly JobEvent[], signal });
  } catch (error) {
    if (!(error instanceof EvidenceFailure) || error.check !== 'transcript') throw error;
    note(error.message);
    await client.cancel(job_id, { signal });
  }
}

function late(job_id: string | null, { timeout }: ReproduceOptions): CommandFailure {
  return new CommandFailure(
    job_id === null
      ? `the service did not take the job within ${timeout} s; run the command again, with a longer --timeout if it is slow`
      : `job ${job_id} did not end and get signed within ${timeout} s, and was not cancelled; run the command again to wait for the same job, with a longer --timeout if it needs one`,
  );
}

/** Reads an export and refuses it unless all checks pass. Without a pinned key, the checks show only that its parts agree. */
async function verified(directory: string, pinned: readonly string[]): Promise<ExportedJob> {
  const exported = readExportDirectory(directory);
  if ('problem' in exported) throw new CommandFailure(`${directory} is not an export: ${exported.problem}`);
  const publicKeys = pinned.length > 0 ? pinned : [publicKeyOf(exported)];
  const { checks } = await verifyExport(exported, { publicKeys, tenant: exported.manifest.tenant });
  const bad = checks.find(({ isGood }) => !isGood);
  if (bad === undefined) return exported;
  throw new CommandFailure(`${directory} is refused, and nothing was sent: ${bad.name}: ${bad.detail}`);
}

function publicKeyOf({ files }: ExportedJob): string {
  return new TextDecoder().decode(wholeFile(files, EXPORT_FILES.publicKey));
}

/** The pinned keys for the service's export. Empty if only the first signer's key is pinned; then the service names its key. */
function pinnedOfService(pinned: readonly string[], first: ExportedJob): readonly string[] {
  const signer = keyIdOf(publicKeyOf(first));
  return pinned.some((pem) => keyIdOf(pem) !== signer) ? pinned : [];
}

/** The same key can be written in several ways. Null if the text is not a key. */
function keyIdOf(pem: string): string | null {
  const parsed = parsePublicKey(pem);
  return parsed.kind === 'key' ? parsed.key.key_id : null;
}

interface Answer {
  readonly target: string;
  readonly job_id: string;
  readonly isPinned: boolean;
}

function tell(report: AgreeReport, { target, job_id, isPinned }: Answer, options: JsonOption): void {
  const { agreement, members, runs, checks, facts } = report;
  const shown = { directory: target, job_id, agreement, members, runs, facts, checks, pinned: isPinned };
  printResult(options, showText(report).stdout, shown);
  if (!isPinned)
    note('no key was pinned, so each export was checked with the key in it; give --public-key of both operators');
}
