/**
 * `service-verify tenant`: checks each of a tenant's exports, and that the jobs have the numbers 1 to N without a gap. N comes
 * from the tenant, from a promise that the tenant holds, or from the exports. A job that both the tenant and the operator leave
 * out is not noticed.
 */
import { envelopeBytesMax } from '@vouchbox/protocol/vocabulary';
import { verifyDirectory } from './directory.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { promiseStanding } from './promise-standing.ts';
import { readWhole } from './read-file.ts';
import { type Check, checked, failed, passed, type Report, refusal } from './report.ts';
import { UsageError } from './usage-error.ts';
import { readPublicKey, type TrustOptions } from './verify.ts';

export interface TenantOptions extends TrustOptions {
  /** The least number of jobs that the tenant has had: stated as a number, by promises for jobs, or in both ways. */
  readonly jobs?: number;
  readonly promise?: readonly string[];
}

/** Facts from an export that was found good as a whole. */
interface Counted {
  readonly directory: string;
  readonly job_id: string;
  readonly receipt_sha256: string;
  /** The number of the job in its tenant; null if the statement has none. */
  readonly number: number | null;
}

export async function verifyTenant(directories: readonly string[], options: TenantOptions): Promise<Report> {
  const { publicKey, tenant, jobs, promise = [] } = options;
  if (jobs === undefined && promise.length === 0)
    throw new UsageError(
      'state how many jobs the tenant has had: by --jobs, or by --promise with the promise of its last job',
    );
  const checks: Check[] = [];
  const told = [jobs ?? 0];
  for (const path of promise) {
    const promised = await promisedNumber(path, options);
    if (typeof promised !== 'number') return promised;
    checks.push(passed(path, `job ${promised} was promised`));
    told.push(promised);
  }
  const found: Counted[] = [];
  for (const directory of directories) {
    const report = await verifyDirectory(directory, { publicKey, tenant, require: [] });
    const bad = report.checks.find(({ isGood }) => !isGood);
    if (bad !== undefined) {
      return refusal(report.exitCode, [...checks, failed(directory, `${bad.name}: ${bad.detail}`)]);
    }
    const counted = countedOf(directory, report);
    checks.push(passed(directory, `${counted.job_id}, job ${counted.number ?? 'without a number'}`));
    found.push(counted);
  }
  const { exitCode, numbers } = numbersOf(found, Math.max(...told));
  const facts = { tenant, jobs: new Set(found.map(({ job_id }) => job_id)).size };
  return { exitCode, checks: [...checks, ...numbers], facts, notice: exitCode === EXIT.good ? NOTICE : null };
}

/** The number in a promise that a pinned key signed, or why there is none. Whether the promise was kept is not checked. */
async function promisedNumber(path: string, { publicKey, tenant }: TenantOptions): Promise<number | Report> {
  const { exitCode, checks, facts } = await promiseStanding({
    promise: readWhole(path, envelopeBytesMax),
    publicKeys: publicKey.map(readPublicKey),
    tenant,
    log: null,
    result: null,
    logProof: null,
    pending: [],
    heads: [],
  });
  const bad = checks.find(({ isGood }) => !isGood);
  if (bad !== undefined) return refusal(exitCode, [failed(path, bad.detail)]);
  const { tenant_job_number: number } = facts;
  return typeof number === 'number'
    ? number
    : refusal(EXIT.profile, [failed(path, 'the promise does not say which job of its tenant it is')]);
}

const NOTICE =
  'This shows all jobs up to this number, which --jobs, a promise or an export states. It does not show a job that tenant and operator leave out together.';

function countedOf(directory: string, { facts }: Report): Counted {
  const { job_id, receipt_sha256, tenant_job_number: number } = facts;
  return {
    directory,
    job_id: String(job_id),
    receipt_sha256: String(receipt_sha256),
    number: typeof number === 'number' ? number : null,
  };
}

function numbersOf(
  found: readonly Counted[],
  told: number,
): { readonly exitCode: ExitCode; readonly numbers: readonly Check[] } {
  const numbered = found.flatMap(({ number }) => (number === null ? [] : [number]));
  const last = Math.max(told, ...numbered);
  const repeated = repeatedNumbers(found);
  const missing = gapsOf(numbered, last);
  const without = found.length - numbered.length;
  const gaps = missing.length === 0 ? null : `MISSING: ${listed(missing)}${unnumbered(without)}`;
  const numbers = [
    checked('repeated', repeated.length === 0 ? null : `REPEATED: ${repeated.join('; ')}`, 'no number twice'),
    checked('numbers', gaps, `1 to ${last} without a gap`),
  ];
  return { exitCode: repeated.length > 0 ? EXIT.record : missing.length > 0 ? EXIT.policy : EXIT.good, numbers };
}

/** The numbers that two jobs have, and the jobs that have two receipts. An export that is given twice is one job. */
function repeatedNumbers(found: readonly Counted[]): readonly string[] {
  const [byNumber, byJob] = [new Map<number, Counted>(), new Map<string, Counted>()];
  return found.flatMap((each) => {
    const [numbered, named] = [byNumber.get(each.number ?? 0), byJob.get(each.job_id)];
    if (each.number !== null) byNumber.set(each.number, numbered ?? each);
    byJob.set(each.job_id, named ?? each);
    if (named !== undefined && named.receipt_sha256 !== each.receipt_sha256)
      return [`TWO RESULTS of ${each.job_id}, in ${named.directory} and ${each.directory}`];
    const isRepeated = numbered !== undefined && numbered.job_id !== each.job_id;
    return isRepeated ? [`${each.number} is ${numbered.job_id} and ${each.job_id}`] : [];
  });
}

interface Gap {
  readonly first: number;
  readonly last: number;
}

/** The numbers from 1 to `last` that are missing. */
function gapsOf(numbers: readonly number[], last: number): readonly Gap[] {
  const present = [...new Set(numbers)].sort((low, high) => low - high);
  return [...present, last + 1].flatMap((number, at) => {
    const first = (present[at - 1] ?? 0) + 1;
    return first < number ? [{ first, last: number - 1 }] : [];
  });
}

const gapsShown = 20;

function listed(gaps: readonly Gap[]): string {
  const shown = gaps
    .slice(0, gapsShown)
    .map(({ first, last }) => (first === last ? `${first}` : `${first} to ${last}`));
  const more = gaps.length > gapsShown ? [`${gaps.length - gapsShown} more gaps`] : [];
  return [...shown, ...more].join(', ');
}

function unnumbered(count: number): string {
  return count === 0 ? '' : `; ${count} of the exports state no number`;
}
