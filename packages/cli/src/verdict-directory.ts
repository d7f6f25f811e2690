/** The directory that `vouchbox grade` writes: the verdict, and the evidence of every job that it depends on. */
import { lstat, readdir } from 'node:fs/promises';
import type { GradeResult, ServiceClient } from '@vouchbox/client';
import { VERDICT_DIRECTORY } from '@vouchbox/verifier';
import { UsageError } from './failures/usage-error.ts';
import { writeExport } from './files/export-origin.ts';
import { checkNew, type NewDirectory, replaceDirectory, writeDirectory } from './files/new-directory.ts';
import { readFromService } from './service-export.ts';

const { verdict: VERDICT, judge: JUDGE, jobs: JOBS } = VERDICT_DIRECTORY;
const OWN: ReadonlySet<string> = new Set(Object.values(VERDICT_DIRECTORY));

export interface VerdictDirectory {
  readonly target: string;
  /** Whether the new directory may replace one that an earlier grading wrote. Nothing else is ever replaced. */
  readonly force: boolean;
}

/** Refuses a name under which no such directory can be written, before the grading begins. @throws UsageError */
export async function checkVerdictDirectory({ target, force }: VerdictDirectory): Promise<void> {
  if (!(await isWritten(target))) return await checkNew(target);
  if (force) return;
  throw new UsageError(
    `${target} has the verdict of an earlier grading: --force replaces it, --output names another place`,
  );
}

/**
 * Writes the verdict, without the program and the tests. `keys` has those that the service named before. Returns the path and the
 * id of each job that no known key signed: the service replaced its key more than once.
 */
export async function writeVerdict(
  { target, force }: VerdictDirectory,
  { bytes, job_id, jobs }: GradeResult,
  client: ServiceClient,
  keys: Set<string>,
): Promise<[path: string, job_id: string][]> {
  const parts: [string, string][] = [[JUDGE, job_id], ...jobs.map((id): [string, string] => [`${JOBS}/${id}`, id])];
  const write = force && (await isWritten(target)) ? replaceDirectory : writeDirectory;
  return await write(target, async (directory) => {
    const missing: [string, string][] = [];
    await directory.write(VERDICT, bytes);
    for (const part of parts) if (!(await addExport(directory, part, client, keys))) missing.push(part);
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

async function addExport(
  directory: NewDirectory,
  [prefix, job_id]: readonly [string, string],
  client: ServiceClient,
  keys: Set<string>,
): Promise<boolean> {
  keys.add((await client.publicKey()).public_key_pem);
  const origin = await readFromService(job_id, client, { publicKeys: [...keys] }).catch((error: unknown) => {
    if (error instanceof UsageError) return null;
    throw error;
  });
  if (origin !== null) await writeExport(directory, origin, { program: 'left_out', prefix: `${prefix}/` });
  return origin !== null;
}
