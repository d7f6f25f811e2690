/**
 * `service-verify verdict`: checks a directory that `vouchbox grade --output` wrote: `verdict.json`, the judge's export in
 * `judge/`, and the exports of all other jobs below `jobs/`.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileBytesMax, sizeText } from '@vouchbox/protocol/vocabulary';
import { EXIT } from './exit-code.ts';
import { readExportFiles } from './export-directory.ts';
import { type ExportFiles, isProblem } from './exported-job.ts';
import { readBounded } from './read-file.ts';
import { failed, type Report, refusal } from './report.ts';
import { UsageError } from './usage-error.ts';
import { readPublicKey, type TrustOptions } from './verify.ts';
import { VERDICT_DIRECTORY, verifyVerdict } from './verify-verdict.ts';

const { verdict: VERDICT, judge: JUDGE, jobs: JOBS } = VERDICT_DIRECTORY;
/** The most jobs of a verdict: far more than one grading can name in the judge's one input file. */
const jobsMax = 20_000;

export async function verifyVerdictDirectory(directory: string, { publicKey, tenant }: TrustOptions): Promise<Report> {
  const publicKeys = publicKey.map(readPublicKey);
  const verdict = readBounded(join(directory, VERDICT), fileBytesMax);
  if (verdict === null)
    return refusal(EXIT.notAnExport, [failed(VERDICT, `it is larger than ${sizeText(fileBytesMax)}`)]);
  const judge = readExportFiles(join(directory, JUDGE));
  if (isProblem(judge)) return refusal(judge.exitCode, [failed(JUDGE, judge.problem)]);
  const jobs = new Map<string, ExportFiles>();
  for (const name of jobNames(join(directory, JOBS))) {
    const files = readExportFiles(join(directory, JOBS, name));
    if (isProblem(files)) return refusal(files.exitCode, [failed(`${JOBS}/${name}`, files.problem)]);
    jobs.set(name, files);
  }
  return await verifyVerdict({ verdict, judge, jobs }, { publicKeys, tenant });
}

function jobNames(directory: string): readonly string[] {
  try {
    const names = readdirSync(directory, { withFileTypes: true });
    return names.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).slice(0, jobsMax);
  } catch (error) {
    throw new UsageError(`${directory} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
