/**
 * Recomputes a job's chain of events without trusting any stored digest, as an auditor does. Names the first event that does not
 * follow from the events before it. Spec § Events 7 and 8.
 */
import type { JobEvent } from '@vouchbox/protocol';
import { eventHash, GENESIS_HASH, HASH_VERSION, type LinkedEvent } from './chain.ts';
import { isJsonObject } from './strict-json.ts';

/** Facts about the history from another source: a receipt's `event_chain`, or the address from which the history was fetched. */
export interface ExpectedChain {
  readonly job_id?: string;
  /** The digest of the last event. */
  readonly head?: string;
  /** The number of hashed events. It reveals a cut-off tail. */
  readonly count?: number;
  /**
   * The text from which each event's data was read, given by the code that read the data. If the text is canonical, its digest
   * counts, and the data is not serialized again. The text must never come from whoever supplied the events.
   */
  readonly dataTexts?: readonly (string | undefined)[];
}

export type ChainProblem =
  /** An event's number is not its place in the history, or appears twice. */
  | 'sequence'
  /** An event belongs to another job. */
  | 'job'
  /** An event's hash version is unknown, or is older than the version of an event before it. */
  | 'hash_version'
  /** An event's `prev_hash` is not the digest of the event before it. */
  | 'link'
  /** An event's digest does not follow from its members. */
  | 'digest'
  /** The history ends before the expected count. */
  | 'missing'
  /** The history continues after the expected count. */
  | 'surplus'
  /** The chain is whole, but its head is not the expected one: the chain was rewritten. */
  | 'head';

export type ChainVerification =
  | {
      readonly kind: 'intact';
      readonly head: string;
      /** The number of events whose digests were recomputed. */
      readonly count: number;
      /** The number of migrated v0.1 events before the hashed events. They prove nothing. */
      readonly unverifiable: number;
    }
  | {
      readonly kind: 'broken';
      /** The first sequence number that is wrong. */
      readonly seq: number;
      readonly problem: ChainProblem;
    };

/** What a receipt of any version states about its job's chain. */
export function chainStatedIn({ event_chain }: Readonly<Record<string, unknown>>): ExpectedChain {
  const { head, count } = isJsonObject(event_chain) ? event_chain : {};
  return { ...(typeof head === 'string' && { head }), ...(typeof count === 'number' && { count }) };
}

/** Recomputes every link of a complete history, in the order in which it was served. */
export function verifyChain(events: Iterable<JobEvent>, expected: ExpectedChain = {}): ChainVerification {
  let job_id = expected.job_id;
  let head = GENESIS_HASH;
  let count = 0;
  let seq = 0;
  for (const event of events) {
    seq++;
    job_id ??= event.job_id;
    const problem = eventProblem(event, { job_id, seq, head, count, dataText: expected.dataTexts?.[seq - 1] });
    if (problem !== null) return { kind: 'broken', seq, problem };
    if (event.hash_version !== HASH_VERSION) continue;
    if (++count > (expected.count ?? Number.POSITIVE_INFINITY)) return { kind: 'broken', seq, problem: 'surplus' };
    head = event.event_hash as string;
  }
  if (count < (expected.count ?? 0)) return { kind: 'broken', seq: seq + 1, problem: 'missing' };
  if (head !== (expected.head ?? head)) return { kind: 'broken', seq, problem: 'head' };
  return { kind: 'intact', head, count, unverifiable: seq - count };
}

/** The tail of the chain that the next event must follow. */
interface Position {
  readonly job_id: string;
  readonly seq: number;
  readonly head: string;
  readonly count: number;
  readonly dataText: string | undefined;
}

function eventProblem(event: JobEvent, at: Position): ChainProblem | null {
  if (event.seq !== at.seq) return 'sequence';
  if (event.job_id !== at.job_id) return 'job';
  if (event.hash_version === 0) return legacyProblem(event, at);
  if (event.hash_version !== HASH_VERSION) return 'hash_version';
  if (event.prev_hash !== at.head) return 'link';
  return hasItsDigest(event, at.dataText) ? null : 'digest';
}

/** Whether the stored digest is right. It covers the canonical text; older versions stored events as another text. */
function hasItsDigest(event: JobEvent, dataText: string | undefined): boolean {
  const { event_hash } = event;
  if (event_hash === recomputedHash(event, dataText)) return true;
  return dataText !== undefined && event_hash === recomputedHash(event, undefined);
}

/** A migrated event has no digests and comes before all hashed events. Any other event with version 0 is a forgery. */
function legacyProblem(event: JobEvent, at: Position): ChainProblem | null {
  return at.count === 0 && event.prev_hash === null && event.event_hash === null ? null : 'hash_version';
}

/** Recomputes an event's digest from its own `prev_hash`; null if the event has no canonical form and so fits in no chain. */
function recomputedHash(event: JobEvent, dataText: string | undefined): string | null {
  try {
    return eventHash(event as LinkedEvent, dataText);
  } catch {
    return null;
  }
}
