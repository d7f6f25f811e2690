/** A job that a verdict depends on. Its signed records are used only after every check of its export was good. */
import {
  EXPORT_FILES,
  foldOutput,
  jsonObjectIn,
  outputRecords,
  type StoredReceipt,
  sha256Hex,
  violationsOf,
} from '@vouchbox/evidence';
import type { SaidViolation } from '@vouchbox/protocol/grading';
import { artifactIn } from './check-record.ts';
import { type ExportedJob, type ExportFiles, parseExport, wholeFile } from './exported-job.ts';
import { eventsOf } from './history.ts';
import { type Check, failed } from './report.ts';
import { type ExportExpectation, verifyExport } from './verify-export.ts';

export type VerdictExpectation = Pick<ExportExpectation, 'publicKeys' | 'tenant'>;

/** A job whose export was verified. */
export interface Attested {
  readonly receipt: StoredReceipt;
  /** The digest of `stdout`, the text made from the recorded events. */
  readonly stdoutSha256: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly violations: readonly SaidViolation[];
  readonly detail: string;
}

/** Verifies one export. Returns its records, or the check that failed first. */
export async function attested(
  name: string,
  files: ExportFiles | undefined,
  expected: VerdictExpectation,
  job?: string,
): Promise<Attested | Check> {
  if (files === undefined) return failed(name, `there is no export of ${job ?? 'it'}`);
  const exported = parseExport(files);
  const report = await verifyExport(exported, { ...expected, job });
  const bad = report.checks.find(({ isGood }) => !isGood);
  if (bad !== undefined || 'problem' in exported) return failed(name, `${bad?.name}: ${bad?.detail}`);
  return { ...recordOf(exported), detail: `${exported.manifest.job_id}, ${report.checks.length} checks` };
}

/** The receipt and the output from an export that was found good, so both were signed. */
function recordOf(exported: ExportedJob): Omit<Attested, 'detail'> {
  const events = eventsOf(exported);
  const stdout = foldOutput(outputRecords(events, 'stdout'));
  return {
    receipt: jsonObjectIn(wholeFile(exported.files, EXPORT_FILES.receipt)) ?? {},
    stdoutSha256: sha256Hex(new TextEncoder().encode(stdout)),
    stdout,
    stderr: foldOutput(outputRecords(events, 'stderr')),
    violations: violationsOf(events),
  };
}

/** A file's digest in a receipt's list of files. */
export function artifactDigest(list: unknown, path: string): unknown {
  return artifactIn(list, path)?.['sha256'];
}
