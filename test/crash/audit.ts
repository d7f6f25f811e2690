/**
 * What must be true after any number of crashes, checked from outside through the interface: every acknowledged job is
 * there, each reached its end once, every chain and receipt verifies, and what ran wrote exactly what it should have.
 */
import { verifyChain, verifyReceipt } from '@svc/evidence';
import type { FoldedResult, JobDetail, JobEvent, TerminalReason } from '@svc/protocol';
import { crashClient, type Promised } from './workload.ts';

const ATTESTED_MILLISECONDS_MAX = 60_000;

/** How the audited jobs ended, and everything that was not as promised. */
export interface Audit {
  readonly jobs: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly attested: number;
  readonly problems: readonly string[];
}

/**
 * Waits for the end of every promised job and looks at each. `interruptions` are the reasons, beside an end of its own,
 * that a job may have ended for.
 */
export async function auditJobs(
  url: string,
  promises: readonly Promised[],
  interruptions: readonly TerminalReason[] = ['server_restarted'],
): Promise<Audit> {
  const client = crashClient(url);
  const signing = (await client.capabilities()).signer !== null;
  const statuses: Record<string, number> = {};
  const problems: string[] = [];
  let attested = 0;
  const seen = new Set<string>();
  for (const promised of promises) {
    const job_id = promised.job_id as string;
    if (seen.has(job_id)) problems.push(`${job_id} stands for two keys`);
    seen.add(job_id);
    const result = await client.waitForResult(job_id);
    const detail = await client.detail(job_id);
    const events = await Array.fromAsync(client.events(job_id));
    statuses[detail.status] = (statuses[detail.status] ?? 0) + 1;
    problems.push(
      ...problemsOf(promised, { result, detail, events, interruptions }).map((problem) => `${job_id}: ${problem}`),
    );
    if (signing && (await isAttested(url, job_id))) attested++;
    else if (signing) problems.push(`${job_id}: not attested`);
  }
  problems.push(...(await strangers(url, seen)));
  return { jobs: promises.length, statuses, attested, problems };
}

interface Evidence {
  readonly result: FoldedResult;
  readonly detail: JobDetail;
  readonly events: readonly JobEvent[];
  readonly interruptions: readonly TerminalReason[];
}

function problemsOf(promised: Promised, { result, detail, events, interruptions }: Evidence): string[] {
  const problems: string[] = [];
  const count = (kind: string) => events.filter((event) => event.kind === kind).length;
  if (count('finished') !== 1 || events.at(-1)?.kind !== 'finished') problems.push('finished is not once, at the end');
  if (count('started') > 1) problems.push('it was started twice');
  const { receipt } = detail;
  if (receipt === undefined) return [...problems, 'it has no receipt'];
  const chain = verifyChain(events, { head: receipt.event_chain.head, count: receipt.event_chain.count });
  if (chain.kind !== 'intact') problems.push(`its chain is broken: ${JSON.stringify(chain)}`);
  const sealed = verifyReceipt(receipt);
  if (sealed.kind !== 'intact') problems.push(`its receipt does not verify: ${JSON.stringify(sealed)}`);
  if (receipt.status !== detail.status) problems.push('receipt and status differ');
  if (detail.terminal_reason === 'exited') {
    if (result.stdout !== promised.stdout) problems.push(`it wrote ${JSON.stringify(result.stdout)}`);
    if (result.exit_code !== promised.exitCode) problems.push(`it exited ${result.exit_code}`);
  } else if (detail.terminal_reason === null || !interruptions.includes(detail.terminal_reason)) {
    problems.push(`it ended for ${detail.terminal_reason}`);
  } else if (!promised.stdout.startsWith(result.stdout)) {
    problems.push(`before it was interrupted it wrote ${JSON.stringify(result.stdout)}`);
  }
  return problems;
}

/** Signing follows the end by a moment: this waits for it, but not for ever. */
async function isAttested(url: string, job_id: string): Promise<boolean> {
  const client = crashClient(url);
  const deadline = performance.now() + ATTESTED_MILLISECONDS_MAX;
  while (performance.now() < deadline) {
    const { attestation } = await client.detail(job_id);
    if (attestation.available) return true;
    await client.list({ limit: 1 });
  }
  return false;
}

/** Jobs that nobody was promised. */
async function strangers(url: string, known: ReadonlySet<string>): Promise<string[]> {
  const unknown: string[] = [];
  for await (const { job_id } of crashClient(url).listAll({ limit: 200 })) {
    if (!known.has(job_id)) unknown.push(`${job_id}: nobody submitted it`);
  }
  return unknown;
}
