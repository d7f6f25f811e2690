/** The directory that `vouchbox grade` writes: the verdict, and the evidence of every job that the verdict depends on. */
import { lstat, readdir } from 'node:fs/promises';
import {
  EvidenceFailure,
  type GradeResult,
  isAway,
  type ServiceClient,
  ServiceFailure,
  TransportFailure,
} from '@vouchbox/client';
import { VERDICT_DIRECTORY } from '@vouchbox/verifier';
import { UsageError } from './failures/usage-error.ts';
import { writeExport } from './files/export-origin.ts';
import { checkNew, type NewDirectory, replaceDirectory, writeDirectory } from './files/new-directory.ts';
import { readFromService } from './service-export.ts';

const { verdict: VERDICT, judge: JUDGE, jobs: JOBS } = VERDICT_DIRECTORY;
const OWN: ReadonlySet<string> = new Set(Object.values(VERDICT_DIRECTORY));

export interface VerdictDirectory {
  readonly target: string;
  /** Whether the new directory may replace the one from an earlier grading. Nothing else is ever replaced. */
  readonly force: boolean;
}

/** Checks, before the grading begins, that the directory can be written. @throws UsageError */
export async function checkVerdictDirectory({ target, force }: VerdictDirectory): Promise<void> {
  if (!(await isWritten(target))) return await checkNew(target);
  if (force) return;
  throw new UsageError(
    `${target} has the verdict of an earlier grading: --force replaces it, --output names another place`,
  );
}

/** What is needed to read the evidence. */
export interface EvidenceReading {
  readonly client: ServiceClient;
  /** The keys that the service has named so far. Keys that it names later are added. */
  readonly keys: Set<string>;
  readonly signal: AbortSignal;
}

/** A job whose evidence is not in the directory. */
export interface MissingEvidence {
  readonly path: string;
  readonly job_id: string;
  /** The reason, worded so that it can follow `because`. */
  readonly why: string;
}

/** Writes the verdict (without the program and the tests) and the evidence that can be read. Returns what is missing. */
export async function writeVerdict(
  { target, force }: VerdictDirectory,
  { bytes, job_id, jobs }: GradeResult,
  reading: EvidenceReading,
): Promise<readonly MissingEvidence[]> {
  const parts: [string, string][] = [[JUDGE, job_id], ...jobs.map((id): [string, string] => [`${JOBS}/${id}`, id])];
  const write = force && (await isWritten(target)) ? replaceDirectory : writeDirectory;
  return await write(target, async (directory) => {
    const missing: MissingEvidence[] = [];
    await directory.write(VERDICT, bytes);
    // This directory is made even if it stays empty, so that a user can add missing evidence to it.
    await directory.makeDirectory(JOBS);
    let lost: Error | null = null;
    for (const part of parts) {
      const problem: Error | null = lost ?? (await addExport(directory, part, reading));
      // If the service is away, the remaining jobs are not requested, because this request has already waited long enough.
      if (problem !== null && isAway(problem)) lost = problem;
      if (problem !== null) missing.push({ path: part[0], job_id: part[1], why: reasonOf(problem) });
    }
    return missing;
  });
}

/** Whether the directory was written by a grading and has nothing else in it. */
async function isWritten(target: string): Promise<boolean> {
  const found = await lstat(target).catch(() => null);
  if (!found?.isDirectory()) return false;
  const names = await readdir(target);
  return names.includes(VERDICT) && names.every((name) => OWN.has(name));
}

const READING_FAILURES = [UsageError, ServiceFailure, TransportFailure, EvidenceFailure] as const;

/** Adds a job's evidence. Returns why it cannot be read, or null if it was added. */
async function addExport(
  directory: NewDirectory,
  [prefix, job_id]: readonly [string, string],
  { client, keys, signal }: EvidenceReading,
): Promise<Error | null> {
  try {
    keys.add((await client.publicKey({ signal })).public_key_pem);
    const origin = await readFromService(job_id, client, { publicKeys: [...keys], signal });
    await writeExport(directory, origin, { program: 'left_out', prefix: `${prefix}/` });
    return null;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Error && READING_FAILURES.some((kind) => error instanceof kind)) return error;
    throw error;
  }
}

function reasonOf(problem: Error): string {
  const hasNoKey = problem instanceof UsageError;
  return hasNoKey ? 'the service has replaced the key that signed it' : `it could not be read: ${problem.message}`;
}
