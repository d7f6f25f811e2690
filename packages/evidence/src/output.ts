/**
 * A program's output, made from its recorded `stdout` and `stderr` events: the text as written, and the evidence in a receipt.
 * The two differ on purpose: evidence joins records with one LF, whether or not a newline followed them. Spec § Receipt,
 * `output`.
 */

import type { EventKind, JobEvent, OutputEvidence, OutputRecord, StreamName, Violation } from '@vouchbox/protocol';
import { OUTPUT_ENCODING, outputText } from '@vouchbox/protocol/vocabulary';
import { sha256Hex } from '#sha256';

/** The two members of an event that say what happened. */
export type EventContent = Pick<JobEvent, 'kind' | 'data'>;

/** The parts of a result that are made from events. */
type ResultPart = StreamName | 'violations';

/** For each kind of event, the part of a result to which its data belongs. */
const PARTS: Readonly<Record<EventKind, ResultPart | null>> = {
  queued: null,
  started: null,
  cancel_requested: null,
  stdout: 'stdout',
  stderr: 'stderr',
  artifact: null,
  large_output: null,
  violation: 'violations',
  truncated: null,
  tool_call: null,
  tool_result: null,
  finished: null,
};

/** The part of a result to which a kind of event belongs; null if there is none or if a later version added the kind. */
export function resultPartOf(kind: string): ResultPart | null {
  return Object.hasOwn(PARTS, kind) ? PARTS[kind as EventKind] : null;
}

/** The violations among a job's events, in order. */
export function violationsOf(events: readonly EventContent[]): Violation[] {
  return events.filter(({ kind }) => resultPartOf(kind) === 'violations').map(({ data }) => data as Violation);
}

/** The exact text of one stream: every record's `text`, and a newline after each record that is not `partial`. */
export function foldOutput(records: Iterable<OutputRecord>): string {
  let text = '';
  for (const record of records) text += outputText(record);
  return text;
}

/** The records of one stream among a job's events, in order. */
export function outputRecords(events: Iterable<EventContent>, stream: StreamName): OutputRecord[] {
  const records: OutputRecord[] = [];
  for (const event of events) if (event.kind === stream) records.push(event.data as OutputRecord);
  return records;
}

/** Byte counts, record counts and digests of the retained output in a job's events. Other kinds of events are skipped. */
export function outputEvidence(events: readonly EventContent[]): OutputEvidence {
  const textsOf = (stream: StreamName): StreamTexts => {
    const texts = outputRecords(events, stream).map(({ text }) => text);
    return { texts, records: texts.length };
  };
  return outputEvidenceOf({ stdout: textsOf('stdout'), stderr: textsOf('stderr') });
}

/** The texts of a stream's records in order, and the number of records. One text may hold several records, joined by LF. */
export interface StreamTexts {
  readonly texts: readonly string[];
  readonly records: number;
}

/** The evidence of output that is given as texts instead of events. */
export function outputEvidenceOf(output: Readonly<Record<StreamName, StreamTexts>>): OutputEvidence {
  const [stdout, stderr] = [streamEvidence(output.stdout), streamEvidence(output.stderr)];
  return {
    encoding: OUTPUT_ENCODING,
    stdout_bytes: stdout.bytes,
    stdout_records: stdout.records,
    stdout_sha256: stdout.sha256,
    stderr_bytes: stderr.bytes,
    stderr_records: stderr.records,
    stderr_sha256: stderr.sha256,
  };
}

function streamEvidence({ texts, records }: StreamTexts): { bytes: number; records: number; sha256: string } {
  const bytes = new TextEncoder().encode(texts.join('\n'));
  return { bytes: bytes.length, records, sha256: sha256Hex(bytes) };
}
