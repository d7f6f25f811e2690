/**
 * `service-verify same`: compares two signed results that should be the same. If a job was given two results, the log does not
 * show this, because its leaves are hashes. Two holders see this when they compare their results.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { EXPORT_FILES, sha256Hex } from '@vouchbox/evidence';
import { envelopeBytesMax } from '@vouchbox/protocol/vocabulary';
import { EXIT } from './exit-code.ts';
import { readBounded } from './read-file.ts';
import { failed, passed, type Report, refusal } from './report.ts';
import { type StatedResult, signedStatement, statedResult } from './signed-statement.ts';
import { readPublicKey, type TrustOptions } from './verify.ts';

/** Compares two envelopes. Each path names an envelope, or an exported job's directory, in which only the envelope counts. */
export async function compareResults(
  paths: readonly [string, string],
  { publicKey }: Pick<TrustOptions, 'publicKey'>,
): Promise<Report> {
  const pems = publicKey.map(readPublicKey);
  const results: Signed[] = [];
  for (const path of paths) {
    const signed = await signedStatement(readBounded(envelopeAt(path), envelopeBytesMax), pems);
    if (typeof signed === 'string') return refusal(EXIT.signature, [failed('signature', `${path}: ${signed}`)]);
    const stated = statedResult(signed);
    if (typeof stated === 'string') return refusal(EXIT.profile, [failed('statement', `${path}: ${stated}`)]);
    results.push({ ...stated, key_id: signed.key.key_id, statementSha256: sha256Hex(signed.envelope.payload) });
  }
  const [one, other] = results as [Signed, Signed];
  const signed = results.map(({ predicate, key_id }) => passed('signature', `${predicate.jobId}, by ${key_id}`));
  const { word, exitCode } = verdictOf(one, other);
  if (exitCode !== EXIT.good) return refusal(exitCode, [...signed, failed('same', word)]);
  const facts = { job_id: one.predicate.jobId, tenant: one.predicate.tenant, result_sha256: one.resultSha256 };
  return { exitCode, checks: [...signed, passed('same', word)], facts, notice: null };
}

interface Signed extends StatedResult {
  readonly key_id: string;
  readonly statementSha256: string;
}

/** A job has only one statement, and each job number of a tenant belongs to only one statement. */
function verdictOf(one: Signed, other: Signed): { readonly word: string; readonly exitCode: Report['exitCode'] } {
  const [{ predicate: first }, { predicate: second }] = [one, other];
  const isOneTenant = first.tenant === second.tenant;
  if (isOneTenant && first.jobId === second.jobId) {
    if (one.statementSha256 === other.statementSha256) return { word: 'ONE RESULT', exitCode: EXIT.good };
    return { word: `TWO RESULTS of ${first.jobId}: ${differing(one, other).join(', ')}`, exitCode: EXIT.record };
  }
  const number = first.tenantJobNumber;
  if (isOneTenant && number !== undefined && number === second.tenantJobNumber) {
    const word = `TWO RESULTS of job ${number} of ${first.tenant}: ${first.jobId} and ${second.jobId}`;
    return { word, exitCode: EXIT.record };
  }
  return { word: 'NOT COMPARABLE: they are of two jobs', exitCode: EXIT.policy };
}

/** The members in which the two statements differ, by name. */
function differing(one: Signed, other: Signed): readonly string[] {
  const [first, second] = [one.predicate, other.predicate] as unknown as Readonly<Record<string, unknown>>[];
  const names = new Set([...Object.keys(first ?? {}), ...Object.keys(second ?? {})]);
  const members = [...names].filter((name) => JSON.stringify(first?.[name]) !== JSON.stringify(second?.[name]));
  return [...(one.resultSha256 === other.resultSha256 ? [] : ['the result']), ...members];
}

/** The path of an envelope. If it cannot be read, the code that later reads the file says why. */
function envelopeAt(path: string): string {
  try {
    return statSync(path).isDirectory() ? join(path, EXPORT_FILES.envelope) : path;
  } catch {
    return path;
  }
}
