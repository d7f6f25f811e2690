/**
 * The audit after crashes, through the HTTP interface: every acknowledged job exists and ended once; every chain, receipt
 * and envelope verifies; and every program wrote exactly what it should have written.
 */
import type { ServiceClient } from '@vouchbox/client';
import { resultSubjectName, verifyChain, verifyEnvelope, verifyReceipt } from '@vouchbox/evidence';
import {
  type FoldedResult,
  type JobDetail,
  type JobEvent,
  RESULT_MEDIA_TYPE,
  type TerminalReason,
} from '@vouchbox/protocol';
import { CRASH_TENANT } from './service-process.ts';
import { crashClient, type Promised } from './workload.ts';

/** Long enough for a busy machine: if there is no signature after this time, signing hangs. */
const ATTESTED_MILLISECONDS_MAX = 240_000;
/** How many jobs are audited at the same time. */
const auditsAtOnce = 6;

/** How the audited jobs ended, and every broken promise. */
export interface Audit {
  readonly jobs: number;
  /** How many jobs ended for each reason. */
  readonly ends: Readonly<Record<string, number>>;
  readonly events: number;
  /** How many envelopes verify. */
  readonly attested: number;
  readonly problems: readonly string[];
}

/** The terminal reasons that a job may have if a crash ended it. */
export type Interruptions = readonly TerminalReason[];

/** Waits for the end of every promised job and audits the job. By now, each promise has its job's id. */
export async function auditJobs(
  url: string,
  promises: readonly Promised[],
  interruptions: Interruptions = ['server_restarted'],
): Promise<Audit> {
  const client = crashClient(url);
  const { public_key_pem } = await client.publicKey();
  const context = { client, public_key_pem, interruptions };
  const looked: Looked[] = [];
  const waiting = promises.values();
  const look = async () => {
    for (const promised of waiting) looked.push(await lookAt(promised, context));
  };
  await Promise.all(Array.from({ length: auditsAtOnce }, look));
  const ends: Record<string, number> = {};
  for (const { end } of looked) ends[end] = (ends[end] ?? 0) + 1;
  const problems = looked.flatMap((job) => job.problems.map((problem) => `${job.job_id}: ${problem}`));
  return {
    jobs: promises.length,
    ends,
    events: looked.reduce((sum, { events }) => sum + events, 0),
    attested: looked.filter(({ isAttested }) => isAttested).length,
    problems: [...problems, ...(await strangers(client, promises))],
  };
}

interface Context {
  readonly client: ServiceClient;
  readonly public_key_pem: string;
  readonly interruptions: Interruptions;
}

interface Looked {
  readonly job_id: string;
  readonly end: string;
  readonly events: number;
  readonly isAttested: boolean;
  readonly problems: readonly string[];
}

async function lookAt(promised: Promised, context: Context): Promise<Looked> {
  const { client } = context;
  const job_id = promised.job_id as string;
  const again = await client.submit(promised.submission, { idempotencyKey: promised.idempotencyKey });
  const result = await client.waitForResult(job_id);
  const detail = await client.detail(job_id);
  const events = await Array.fromAsync(client.events(job_id, { limit: 1000 }));
  const unattested = await attestationProblem(job_id, context);
  return {
    job_id,
    end: detail.terminal_reason ?? 'none',
    events: events.length,
    isAttested: unattested === null,
    problems: [
      ...(again.job_id === job_id ? [] : [`its key stands for ${again.job_id} too`]),
      ...problemsOfHistory(detail, events),
      ...problemsOfEnd(promised, { result, detail, interruptions: context.interruptions }),
      ...(unattested === null ? [] : [unattested]),
    ],
  };
}

function problemsOfHistory({ receipt, status }: JobDetail, events: readonly JobEvent[]): string[] {
  const problems: string[] = [];
  const count = (kind: string) => events.filter((event) => event.kind === kind).length;
  if (count('finished') !== 1 || events.at(-1)?.kind !== 'finished') problems.push('finished is not once, at the end');
  if (count('started') > 1) problems.push('it was started twice');
  if (count('cancel_requested') > 1) problems.push('its end was asked for twice');
  if (receipt === undefined) return [...problems, 'it has no receipt'];
  const chain = verifyChain(events, { head: receipt.event_chain.head, count: receipt.event_chain.count });
  if (chain.kind !== 'intact') problems.push(`its chain is broken: ${JSON.stringify(chain)}`);
  const sealed = verifyReceipt(receipt);
  if (sealed.kind !== 'intact') problems.push(`its receipt does not verify: ${JSON.stringify(sealed)}`);
  if (receipt.status !== status) problems.push('receipt and status differ');
  return problems;
}

interface End {
  readonly result: FoldedResult;
  readonly detail: JobDetail;
  readonly interruptions: Interruptions;
}

function problemsOfEnd(promised: Promised, { result, detail, interruptions }: End): string[] {
  const problems: string[] = [];
  const { terminal_reason } = detail;
  const mayEndFor = promised.cancellation === 'none' ? interruptions : [...interruptions, 'cancelled'];
  if (promised.cancellation === 'promised' && !detail.cancellation_requested) {
    problems.push('its cancellation was forgotten');
  }
  if (terminal_reason === 'exited') {
    if (result.stdout !== promised.stdout) problems.push(`it wrote ${JSON.stringify(result.stdout)}`);
    if (result.exit_code !== promised.exitCode) problems.push(`it exited ${result.exit_code}`);
  } else if (terminal_reason === null || !mayEndFor.includes(terminal_reason)) {
    problems.push(`it ended for ${terminal_reason}`);
  } else if (!promised.stdout.startsWith(result.stdout)) {
    problems.push(`before it was interrupted it wrote ${JSON.stringify(result.stdout)}`);
  }
  return problems;
}

/** Waits for a limited time until the ended job is signed. Returns what is wrong; null if the job's envelope verifies. */
async function attestationProblem(job_id: string, { client, public_key_pem }: Context): Promise<string | null> {
  const deadline = performance.now() + ATTESTED_MILLISECONDS_MAX;
  while (!(await client.detail(job_id)).attestation.available) {
    if (performance.now() > deadline) return 'it is not attested';
    await client.list({ limit: 1 });
  }
  const verified = await verifyEnvelope({
    envelope: (await client.attestation(job_id)).bytes,
    subject: (await client.resultArtifact(job_id)).bytes,
    publicKeys: [public_key_pem],
    expected: { tenant: CRASH_TENANT, subjectName: resultSubjectName(job_id), mediaType: RESULT_MEDIA_TYPE },
  });
  return verified.kind === 'verified' ? null : `its envelope is refused: ${verified.step}, ${verified.reason}`;
}

/** Reports two promises about the same job, and every job without a promise. */
async function strangers(client: ServiceClient, promises: readonly Promised[]): Promise<string[]> {
  const known = new Set(promises.map(({ job_id }) => job_id));
  const problems = known.size === promises.length ? [] : ['one job stands for two keys'];
  for await (const { job_id } of client.listAll({ limit: 200 })) {
    if (!known.has(job_id)) problems.push(`${job_id}: nobody submitted it`);
  }
  return problems;
}

/**
 * Compares the programs that the witness saw with the jobs' ends. Each program runs once, unless its job ends before the run.
 */
export async function runProblems(
  url: string,
  promises: readonly Promised[],
  runs: ReadonlyMap<number, number>,
): Promise<string[]> {
  const client = crashClient(url);
  const problems: string[] = [];
  const reasons = new Map<string, TerminalReason | null>();
  for await (const { job_id, terminal_reason } of client.listAll({ limit: 200 })) reasons.set(job_id, terminal_reason);
  for (const { number, job_id } of promises) {
    const count = runs.get(number) ?? 0;
    const reason = reasons.get(job_id ?? '');
    if (count > 1) problems.push(`${job_id}: it ran ${count} times`);
    if (count === 0 && reason === 'exited') problems.push(`${job_id}: it never ran`);
  }
  return problems;
}
