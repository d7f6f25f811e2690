/**
 * `vouchbox reproduce`: gives another operator's service the program and the input of an exported job, exports what came of
 * it, and compares the two. What the first service answered is not sent.
 */
import { readFileSync } from 'node:fs';
import { EXPORT_FILES } from '@vouchbox/evidence';
import { type AgreeReport, compareRuns, type ExportedJob, showText, verifyExport, wholeFile } from '@vouchbox/verifier';
import { readExportDirectory } from '@vouchbox/verifier/command';
import { CommandFailure } from './failures/command-failure.ts';
import { EXIT } from './failures/exit-code.ts';
import { writeExport } from './files/export-origin.ts';
import { checkNew, writeDirectory } from './files/new-directory.ts';
import { withUploads } from './files/upload-files.ts';
import { type AccessOptions, requireService } from './service/service-access.ts';
import { readFromService } from './service-export.ts';
import { keyFor, submissionIn } from './submission/exported-submission.ts';
import { takeInterrupts, unlessInterrupted } from './terminal/interrupts.ts';
import { type JsonOption, note, printResult } from './terminal/print.ts';

export interface ReproduceOptions extends AccessOptions, JsonOption {
  readonly output?: string;
  /** The keys that the reader pinned, of both operators. */
  readonly publicKey: readonly string[];
}

/** Returns 0 if both agree, and else the code of `service-verify agree`. */
export async function reproduce(directory: string, options: ReproduceOptions): Promise<number> {
  using interrupts = takeInterrupts();
  const report = await unlessInterrupted(interrupts.asked, (signal) => compared(directory, options, signal));
  if (report !== null) return report.exitCode;
  note('interrupted: nothing was compared');
  return EXIT.cancelled;
}

async function compared(directory: string, options: ReproduceOptions, signal: AbortSignal): Promise<AgreeReport> {
  const target = options.output ?? `${directory.replace(/\/+$/, '')}-reproduced`;
  const pinned = options.publicKey.map((file) => readFileSync(file, 'utf8'));
  const first = await verified(directory, pinned);
  const submission = submissionIn(directory, first);
  await checkNew(target);
  await using service = requireService(options);
  const { client } = service;
  const { job_id } = await client.submit(await withUploads(submission, client), {
    idempotencyKey: keyFor(first.manifest, publicKeyOf(first)),
    signal,
  });
  if (!options.json) note(`job ${job_id}`);
  await client.waitForResult(job_id, { signal });
  const origin = await readFromService(job_id, client, { publicKeys: pinnedOfService(pinned, first), signal });
  await writeDirectory(target, (writable) => writeExport(writable, origin, { program: 'kept' }));
  const second = readExportDirectory(target);
  const own = 'problem' in second ? [] : [publicKeyOf(first), publicKeyOf(second)];
  const report = await compareRuns(
    [
      { name: directory, exported: first },
      { name: target, exported: second },
    ],
    { publicKeys: pinned.length > 0 ? pinned : own },
  );
  tell(report, { target, job_id, isPinned: pinned.length > 0 }, options);
  return report;
}

/** The export, once all of it was found good. Without a pinned key this shows only that nothing in it contradicts the rest. */
async function verified(directory: string, pinned: readonly string[]): Promise<ExportedJob> {
  const exported = readExportDirectory(directory);
  if ('problem' in exported) throw new CommandFailure(`${directory} is no export: ${exported.problem}`);
  const publicKeys = pinned.length > 0 ? pinned : [publicKeyOf(exported)];
  const { checks } = await verifyExport(exported, { publicKeys, tenant: exported.manifest.tenant });
  const bad = checks.find(({ isGood }) => !isGood);
  if (bad === undefined) return exported;
  throw new CommandFailure(`${directory} is refused, and nothing was sent: ${bad.name}: ${bad.detail}`);
}

function publicKeyOf({ files }: ExportedJob): string {
  return new TextDecoder().decode(wholeFile(files, EXPORT_FILES.publicKey));
}

/** The service names its current key by itself. A pinned one may be its earlier key. */
function pinnedOfService(pinned: readonly string[], first: ExportedJob): readonly string[] {
  const others = pinned.filter((pem) => pem !== publicKeyOf(first));
  return pinned.length > 0 && others.length > 0 ? pinned : [];
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
