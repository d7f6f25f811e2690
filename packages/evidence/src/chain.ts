/**
 * The hash chain of a job's history: each event's digest covers the digest before it, so that no event can be changed,
 * dropped, inserted or moved unseen. Made by the store when it appends; recomputed by an auditor with `verify-chain.ts`.
 * Spec § Events 7.
 */

import type { EventBody, JobEvent } from '@svc/protocol';
import { sha256Hex } from '#sha256';
import { canonicalJson } from './canonical-json.ts';

/** The hash version of every newly written event. A migrated v0.1 event has 0: it is kept and proves nothing. */
export const HASH_VERSION = 1;

/** What the first event of a chain names as its predecessor. */
export const GENESIS_HASH = '0'.repeat(64);

/** Separates this digest from any other SHA-256 the service makes, and this version of it from later ones. */
const EVENT_DOMAIN = 'svc.event.v1\n';

/** Everything an event's digest covers. */
export type LinkedEvent = Pick<JobEvent, 'job_id' | 'seq' | 'timestamp' | 'kind' | 'data'> & { prev_hash: string };

/** Where a chain stands: its last sequence number and digest, or 0 and `GENESIS_HASH` before the first event. */
export interface ChainTail {
  readonly job_id: string;
  readonly seq: number;
  readonly head: string;
}

/** The exact text whose UTF-8 an event's digest covers: the domain, then the RFC 8785 form of the linked members. */
export function eventText(event: LinkedEvent): string {
  const { data, job_id, kind, prev_hash, seq, timestamp } = event;
  return EVENT_DOMAIN + canonicalJson({ data, job_id, kind, prev_hash, seq, timestamp });
}

/** The digest of one event, as 64 lower-case hex digits. */
export function eventHash(event: LinkedEvent): string {
  return sha256Hex(eventText(event));
}

/** Places events behind the tail of a job's chain, in the order given. The last one returned is the new tail. */
export function chainEvents(tail: ChainTail, bodies: readonly EventBody[]): JobEvent[] {
  let { seq, head } = tail;
  return bodies.map(({ kind, timestamp, data }) => {
    const linked = { job_id: tail.job_id, seq: ++seq, timestamp, kind, data, prev_hash: head };
    head = eventHash(linked);
    return { ...linked, hash_version: HASH_VERSION, event_hash: head };
  });
}
