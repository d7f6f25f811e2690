/**
 * Runs of output as they are stored: one row for each run, with the digests and the compressed texts of its events. When a run is
 * read, the text of each event's data is made again: exactly the same text, because RFC 8785 allows only one form.
 */
import { HASH_VERSION, linkEvents } from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { giveBack } from '../../ground/give-back.ts';
import type { OutputGroup, OutputRun } from '../records/inputs.ts';
import type { JobKey, StoredEvent, StoredRun } from '../records/rows.ts';
import type { OutputRunTable } from '../schema.ts';
import { compressed, expanded } from './compressed.ts';
import { eventsOfRun } from './output-run.ts';

export function isRun(part: StoredEvent | StoredRun): part is StoredRun {
  return 'last_seq' in part;
}

/** The tail of a chain. */
interface Tail extends JobKey {
  readonly seq: number;
  readonly head: string;
}

/** The length of an event's digest. */
export const digestBytes = 32;
const digestCharacters = 2 * digestBytes;

/** Links the events of a run to a tail. */
export function linkedRun({ tenant, job_id, seq, head }: Tail, run: OutputRun): { row: OutputRunTable; tail: Tail } {
  let digests = '';
  let last = { seq, head };
  for (const { event } of linkEvents({ job_id, seq, head }, eventsOfRun(run))) {
    digests += event.event_hash;
    last = { seq: event.seq, head: event.event_hash };
  }
  const bytes = new TextEncoder().encode(`${JSON.stringify(run.groups)}\n${run.stdout}${run.stderr}`);
  const row: OutputRunTable = {
    tenant,
    job_id,
    seq: seq + 1,
    last_seq: last.seq,
    prev_hash: head,
    size_bytes: bytes.length,
    event_hashes: Buffer.from(digests, 'hex'),
    content: compressed(bytes),
  };
  if (row.content !== bytes) giveBack(bytes);
  return { row, tail: { tenant, job_id, ...last } };
}

/** The records of a stored run. @throws Error if the stored bytes are not a run. */
export function readRun({ content, size_bytes }: StoredRun): OutputRun {
  const bytes = expanded(content, size_bytes);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  if (bytes !== content) giveBack(bytes);
  // The JSON has no white space, and so no line feed.
  const start = text.indexOf('\n') + 1;
  const groups = JSON.parse(text.slice(0, start)) as OutputGroup[];
  const end = start + foldedLength(groups);
  return { groups, stdout: text.slice(start, end), stderr: text.slice(end) };
}

/** The events of a stored run. @throws Error if the stored bytes are not a run. */
export function* eventsOfStoredRun(job_id: string, stored: StoredRun): Generator<JobEvent> {
  const digests = Buffer.from(stored.event_hashes).toString('hex');
  let { seq } = stored;
  let prev_hash = stored.prev_hash;
  let at = 0;
  for (const { timestamp, kind, data } of eventsOfRun(readRun(stored))) {
    const event_hash = digests.slice(at, at + digestCharacters);
    yield { job_id, seq, timestamp, kind, data, hash_version: HASH_VERSION, prev_hash, event_hash };
    prev_hash = event_hash;
    at += digestCharacters;
    seq++;
  }
}

/** How many characters the folded text of `stdout` has. */
function foldedLength(groups: readonly OutputGroup[]): number {
  let length = 0;
  for (const [stream, , lengths] of groups) {
    if (stream === 'stdout') for (const one of lengths) length += one < 0 ? ~one : one + 1;
  }
  return length;
}
