/**
 * What a job's canary shows: shortly before the job ended, a cell of the same class and pack on the same node refused everything
 * that a cell must refuse. This is evidence about the configuration, not about the job's own cell. docs/VERIFYING.md, the canary.
 */
import {
  canaryFindings,
  canaryNamedIn,
  canonicalJson,
  type ExecutionPredicate,
  isJsonObject,
  type NamedCanary,
  sha256Hex,
} from '@vouchbox/evidence';
import { type Check, failed, passed } from './report.ts';
import { millisecondsOf, signedStatement, statedResult } from './signed-statement.ts';

export interface CanaryStanding {
  /** What is known about the canary, in one line. */
  readonly word: string;
  /** The time from the end of the canary to the end of the job; null unless the canary shows that everything was refused. */
  readonly ageMilliseconds: number | null;
  /** The checks; one fails if a file contradicts what was signed. */
  readonly checks: readonly Check[];
}

export const noCanary: CanaryStanding = { word: 'NO CANARY', ageMilliseconds: null, checks: [] };

/** How much later than its job a canary may seem to end. Both times come from one node's clock, which may be set back. */
const clockSkewMilliseconds = 30_000;

/** A file with the envelope of a canary; `bytes` is null if the file is too large. */
export interface CanaryFile {
  readonly bytes: Uint8Array<ArrayBuffer> | null;
}

/** Judges the canary that a verified statement names. */
export async function canaryStanding(
  predicate: ExecutionPredicate,
  file: CanaryFile | null,
  publicKeys: readonly (string | null)[],
): Promise<CanaryStanding> {
  const named = canaryNamedIn(predicate);
  if (file === null)
    return named === null ? noCanary : { ...noCanary, word: 'NAMED, and not checked: give its envelope with --canary' };
  if (named === null) return contradicted('the signed receipt names no canary');
  const canary = await signedCanary(file, named, publicKeys);
  if (typeof canary === 'string') return contradicted(canary);
  const unlike = differenceOf(predicate, canary);
  if (unlike !== null) return contradicted(unlike);
  const age = millisecondsOf(predicate.finishedAt) - millisecondsOf(canary.finishedAt);
  if (!(age >= -clockSkewMilliseconds)) return contradicted('it ended after the job');
  const { tries, problem } = canaryFindings(canary);
  const checks = [passed('canary', `${canary.jobId}, of the same class, pack and host`)];
  if (problem !== null) return { word: `FOUND A HOLE: ${problem}`, ageMilliseconds: null, checks };
  const told = `${tries.length} tries were refused, ${Math.max(0, Math.round(age / 1000))} s before the job ended`;
  return { word: `REFUSED: ${told}`, ageMilliseconds: Math.max(0, age), checks };
}

function contradicted(reason: string): CanaryStanding {
  return { ...noCanary, checks: [failed('canary', reason)] };
}

/** The canary's statement, if its signature and its digest are right; otherwise why it is not the named canary. */
async function signedCanary(
  { bytes }: CanaryFile,
  named: NamedCanary,
  publicKeys: readonly (string | null)[],
): Promise<ExecutionPredicate | string> {
  const statement = await signedStatement(bytes, publicKeys);
  if (typeof statement === 'string') return statement;
  if (sha256Hex(statement.bytes) !== named.sha256) return 'it is not the canary that the job names';
  const stated = statedResult(statement);
  if (typeof stated === 'string') return stated;
  const { jobId, finishedAt } = stated.predicate;
  const isNamed = jobId === named.jobId && finishedAt === named.finishedAt;
  return isNamed ? stated.predicate : 'it has another job or end than the job names';
}

/** How the canary's cell differs in kind from the job's cell; null if both are of one kind. */
function differenceOf(job: ExecutionPredicate, canary: ExecutionPredicate): string | null {
  if (job.isolationClass === null || job.isolationClass !== canary.isolationClass) return 'it is of another class';
  const pack = packOf(job);
  if (pack === null || pack !== packOf(canary)) return 'it is of another pack';
  if (job.receipt['host_posture_sha256'] !== canary.receipt['host_posture_sha256'])
    return 'its host has another posture';
  const [ours, theirs] = [job, canary].map(({ also }) => canonicalJson(also?.['build'] ?? null));
  return ours === theirs ? null : 'it was run by another build of the service';
}

function packOf({ receipt }: ExecutionPredicate): string | null {
  const pack = receipt['runtime_pack'];
  return isJsonObject(pack) && typeof pack['digest'] === 'string' ? pack['digest'] : null;
}
