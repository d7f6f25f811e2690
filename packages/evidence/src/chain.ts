/**
 * The hash chain of a job's history. Each event's digest covers the previous event's digest, so a changed, dropped, inserted or
 * moved event is noticed. The store makes the chain when it appends events. An auditor recomputes the chain with
 * `verify-chain.ts`. Spec § Events 7.
 */

import type { EventBody, JobEvent } from '@vouchbox/protocol';
import { sha256Hex } from '#sha256';
import { canonicalJson } from './canonical-json.ts';

/** The hash version of every new event. A migrated v0.1 event has 0: it is kept, but proves nothing. */
export const HASH_VERSION = 1;

/** The digest that the first event of a chain names as its predecessor. */
export const GENESIS_HASH = '0'.repeat(64);

/** A prefix that keeps this digest apart from the service's other SHA-256 digests, and from later versions of itself. */
const EVENT_DOMAIN = 'svc.event.v1\n';

/** Everything that an event's digest covers. */
export type LinkedEvent = Pick<JobEvent, 'job_id' | 'seq' | 'timestamp' | 'kind' | 'data'> & { prev_hash: string };

/** The tail of a chain: its last sequence number and digest, or 0 and `GENESIS_HASH` before the first event. */
export interface ChainTail {
  readonly job_id: string;
  readonly seq: number;
  readonly head: string;
}

/** An event in its place in the chain, and the RFC 8785 text of its data. The event's digest covers that text. */
export interface ChainedEvent {
  readonly event: JobEvent & { readonly event_hash: string };
  readonly data_json: string;
}

/** The exact text whose UTF-8 an event's digest covers: the domain, then the RFC 8785 form of the linked members. */
export function eventText(event: LinkedEvent): string {
  return textOf(event, canonicalJson(event.data));
}

/** The digest of one event, as 64 lower-case hex digits. If the text of its data is given, that text is used unchanged. */
export function eventHash(event: LinkedEvent, data_json = canonicalJson(event.data)): string {
  return sha256Hex(textOf(event, data_json));
}

/** Places events after the tail of a job's chain, in the given order. The last event becomes the new tail. */
export function* linkEvents(tail: ChainTail, bodies: Iterable<EventBody>): Generator<ChainedEvent> {
  let { seq, head } = tail;
  for (const { kind, timestamp, data } of bodies) {
    const linked = { job_id: tail.job_id, seq: ++seq, timestamp, kind, data, prev_hash: head };
    const data_json = canonicalJson(data);
    head = sha256Hex(textOf(linked, data_json));
    yield { event: { ...linked, hash_version: HASH_VERSION, event_hash: head }, data_json };
  }
}

/** The events that `linkEvents` yields, in an array. */
export function chainEvents(tail: ChainTail, bodies: readonly EventBody[]): JobEvent[] {
  return Array.from(linkEvents(tail, bodies), ({ event }) => event);
}

/** The text of a linked event. `data` comes first, because it is the first member in canonical order. */
function textOf({ job_id, kind, prev_hash, seq, timestamp }: LinkedEvent, data_json: string): string {
  const others = canonicalJson({ job_id, kind, prev_hash, seq, timestamp });
  return `${EVENT_DOMAIN}{"data":${data_json},${others.slice(1)}`;
}
