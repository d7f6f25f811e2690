/**
 * Compares a job's history with its receipt as an auditor does: it trusts no stored digest, and recomputes every link and
 * every digest. Success shows that the record is whole, but not who made it; the attestation shows that. This module is
 * loaded when it is first used. Spec § Events 7 and 8.
 */
import { canonicalJson } from './canonical-json.ts';
import type {
  EventData,
  EventKind,
  JobDetail,
  JobEvent,
  OutputEvidence,
  OutputRecord,
  Receipt,
} from './contract-types.ts';
import type { Sha256 } from './digest.ts';
import { type EvidenceCheck, refuse } from './failure.ts';
import type { CallOptions, ReplayOptions } from './job-options.ts';

/** A history, after all its links were recomputed. */
export interface Chain {
  /** The digest of the last event. */
  readonly head: string;
  /** The number of events whose digests were recomputed. */
  readonly count: number;
  /** The number of v0.1 events before the hashed ones. They were stored without digests and prove nothing. */
  readonly unverifiable: number;
}

/** A record whose parts do not contradict each other. */
export interface Verified {
  readonly job_id: string;
  readonly chain: Chain;
  readonly receipt_sha256: string;
  readonly receipt: Receipt;
}

/** A complete history in the order in which it was served, and the receipt of the job that the history should belong to. */
export interface JobRecord {
  readonly job_id: string;
  readonly events: readonly JobEvent[];
  readonly receipt: Receipt;
}

/** Functions that the client passes in. They are not imported here, so that the client and this module stay one file each. */
export interface Tools {
  readonly sha256: Sha256;
}

/** The client's functions that are needed to check a job. */
export interface VerifyingClient extends Tools {
  readonly detail: (job_id: string, options: CallOptions) => Promise<JobDetail>;
  readonly events: (job_id: string, options: ReplayOptions) => AsyncIterable<JobEvent>;
}

/** The most events that the service puts on a page. */
const replayLimitMax = 1000;

/** The hash version of every new event. Events of v0.1 have 0. */
const HASH_VERSION = 1;
const ENCODING: OutputEvidence['encoding'] = 'utf8-event-lines-joined-by-lf-no-trailing-lf';
const GENESIS_HASH = '0'.repeat(64);

/** Members that both the last event and the receipt have, unless one of them is from an older version. */
const OUTCOME = ['status', 'exit_code', 'signal', 'terminal_reason', 'duration_ms'] as const;

/** Reads an ended job's whole history and receipt, and recomputes both. */
export async function verifyJob(
  job_id: string,
  { detail, events, ...tools }: VerifyingClient,
  { signal }: CallOptions,
): Promise<Verified> {
  const { receipt } = await detail(job_id, { signal });
  if (receipt === undefined) return refuse('receipt', `${job_id} has no receipt yet`);
  const history = await Array.fromAsync(events(job_id, { limit: replayLimitMax, signal }));
  return verifyRecord({ job_id, events: history, receipt }, tools);
}

/**
 * Recomputes a record, and compares the events with everything that the receipt says about them. Facts that an older receipt
 * does not state are not checked. @throws EvidenceFailure with the first fault
 */
export async function verifyRecord({ job_id, events, receipt }: JobRecord, tools: Tools): Promise<Verified> {
  const { sha256 } = tools;
  const same = (check: EvidenceCheck, stated: unknown, found: unknown) => {
    if (canonicalJson(stated) === canonicalJson(found)) return;
    refuse(check, `${check}: the receipt differs from the record`);
  };
  const { receipt_sha256, ...covered } = receipt;
  same('receipt', [receipt_sha256, receipt.job_id], [await textDigest(sha256, canonicalJson(covered)), job_id]);
  const chain = await verifyChain(job_id, events, tools);
  const { event_chain, output, output_artifacts, large_outputs } = receipt as Partial<Receipt>;
  if (event_chain !== undefined) same('chain_summary', event_chain, summaryOf(chain));
  const last = events.at(-1);
  if (last?.kind !== 'finished' || dataOf(events, 'finished').length > 1) {
    return refuse('finished', 'the history must have exactly one event of the kind finished, at its end');
  }
  for (const name of OUTCOME) {
    if (name in receipt && name in last.data) same('finished', receipt[name], last.data[name]);
  }
  if (output !== undefined) same('output', output, await outputOf(events, sha256));
  if (output_artifacts !== undefined) same('artifacts', output_artifacts, dataOf(events, 'artifact'));
  // If the job asked for no large outputs, the receipt lacks `large_outputs`, and the history has no `large_output` events.
  same('artifacts', large_outputs ?? [], dataOf(events, 'large_output'));
  return { job_id, chain, receipt_sha256, receipt };
}

/** Recomputes every link of the chain. */
async function verifyChain(job_id: string, events: readonly JobEvent[], { sha256 }: Tools): Promise<Chain> {
  const digests = await Promise.all(events.map((event) => eventDigest(event, sha256)));
  let head = GENESIS_HASH;
  let count = 0;
  for (const [index, event] of events.entries()) {
    const problem = problemOf(event, { job_id, seq: index + 1, head, count, digest: digests[index] ?? null });
    if (problem !== null) refuse(problem, `event ${index + 1}: its ${problem} is wrong`, index + 1);
    if (event.hash_version !== HASH_VERSION) continue;
    count++;
    head = event.event_hash as string;
  }
  return { head, count, unverifiable: events.length - count };
}

interface Place {
  readonly job_id: string;
  readonly seq: number;
  readonly head: string;
  readonly count: number;
  readonly digest: string | null;
}

/** The fault in an event at this place. An old event without digests cannot follow an event with digests. */
function problemOf(event: JobEvent, at: Place): EvidenceCheck | null {
  const { seq, job_id, hash_version, prev_hash, event_hash } = event;
  if (seq !== at.seq) return 'sequence';
  if (job_id !== at.job_id) return 'job';
  if (hash_version === 0) return at.count === 0 && prev_hash === null && event_hash === null ? null : 'hash_version';
  if (hash_version !== HASH_VERSION) return 'hash_version';
  if (prev_hash !== at.head) return 'link';
  return event_hash !== null && event_hash === at.digest ? null : 'digest';
}

/** The event's digest, computed with its own `prev_hash`; null if the event has no canonical form. */
async function eventDigest(event: JobEvent, sha256: Sha256): Promise<string | null> {
  const { data, job_id, kind, prev_hash, seq, timestamp } = event;
  try {
    return await textDigest(
      sha256,
      `svc.event.v1\n${canonicalJson({ data, job_id, kind, prev_hash, seq, timestamp })}`,
    );
  } catch {
    return null;
  }
}

function summaryOf({ head, count, unverifiable }: Chain) {
  return { hash_version: HASH_VERSION, genesis: GENESIS_HASH, head, count, complete: unverifiable === 0 };
}

async function outputOf(events: readonly JobEvent[], sha256: Sha256): Promise<Record<string, unknown>> {
  const evidence: Record<string, unknown> = { encoding: ENCODING };
  for (const stream of ['stdout', 'stderr'] as const) {
    const records: OutputRecord[] = dataOf(events, stream);
    const bytes = new TextEncoder().encode(records.map(({ text }) => text).join('\n'));
    evidence[`${stream}_bytes`] = bytes.length;
    evidence[`${stream}_records`] = records.length;
    evidence[`${stream}_sha256`] = await sha256(bytes);
  }
  return evidence;
}

function dataOf<Kind extends EventKind>(events: readonly JobEvent[], kind: Kind): EventData[Kind][] {
  return events.filter((event) => event.kind === kind).map(({ data }) => data as EventData[Kind]);
}

async function textDigest(sha256: Sha256, text: string): Promise<string> {
  return sha256(new TextEncoder().encode(text));
}
