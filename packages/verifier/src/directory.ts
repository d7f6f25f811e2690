/**
 * `service-verify directory`: checks everything in an exported job, without the service that made it. The pinned key
 * and the expected tenant come from elsewhere. Nothing in the directory is trusted.
 */
import { readExportDirectory } from './export-directory.ts';
import { type LogOptions, readLog, readLogProof, rememberHead } from './log-files.ts';
import { type PolicyOptions, parsePolicy } from './policy.ts';
import type { Report } from './report.ts';
import { readCanary, readPublicKey, type TrustOptions } from './verify.ts';
import { verifyExport } from './verify-export.ts';

export interface DirectoryOptions extends TrustOptions, PolicyOptions, LogOptions {
  /** The log proof, if the directory has none. */
  readonly logProof?: string;
  /** The canary that the job names. */
  readonly canary?: string;
  /** The expected job; if left out, the directory decides which job it is about. */
  readonly job?: string;
}

/** Verifies the attestation, then checks that all else in the directory was attested, then applies the policy. */
export async function verifyDirectory(directory: string, options: DirectoryOptions): Promise<Report> {
  const policy = parsePolicy(options);
  const publicKeys = options.publicKey.map(readPublicKey);
  const { tenant, job } = options;
  const given = { logProof: readLogProof(options.logProof), canary: readCanary(options.canary) };
  const expected = { publicKeys, tenant, job, policy, log: readLog(options), ...given };
  const report = await verifyExport(readExportDirectory(directory), expected);
  rememberHead(options.logState, report.log.head);
  return report;
}
