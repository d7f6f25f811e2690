/**
 * Reads a job's history from files: replay pages as the service answers them, or an export with one event on each line. Events
 * keep their order, and only their form is checked here; `check-record.ts` checks whether each follows from the previous one.
 */
import { EXPORT_FILES, isJsonObject, parseStrictJson } from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { type ExportedJob, wholeFile } from './exported-job.ts';

/** What the last replay page says: the history has ended, or more events come. `unknown` if there was no page. */
export type HistoryEnd = 'terminal' | 'more' | 'unknown';

export interface History {
  readonly events: readonly JobEvent[];
  readonly end: HistoryEnd;
}

/** Why a file is not a history; the caller adds the name of the file. */
export interface HistoryProblem {
  readonly problem: string;
}

const LINE_FEED = 0x0a;

/** Reads one file of a history in either form. */
export function parseHistory(bytes: Uint8Array): History | HistoryProblem {
  const first = parseStrictJson(bytes.subarray(0, lineEnd(bytes, 0)));
  const isLines = first.kind === 'value' && isJsonObject(first.value) && !Object.hasOwn(first.value, 'events');
  return isLines ? parseLines(bytes) : parsePage(bytes);
}

/** The events of an export whose history was found good; none if the history cannot be read. */
export function eventsOf({ files }: Pick<ExportedJob, 'files'>): readonly JobEvent[] {
  const history = parseLines(wholeFile(files, EXPORT_FILES.events) ?? new Uint8Array());
  return 'problem' in history ? [] : history.events;
}

/** Joins several files, in the given order, into one history. */
export function joinHistories(parts: readonly History[]): History {
  return { events: parts.flatMap(({ events }) => events), end: parts.at(-1)?.end ?? 'unknown' };
}

/** Reads an export with one event per line. The last line may lack its newline; no line may be empty. */
export function parseLines(bytes: Uint8Array): History | HistoryProblem {
  const events: JobEvent[] = [];
  for (let start = 0, line = 1; start < bytes.length; line++) {
    const end = lineEnd(bytes, start);
    const json = parseStrictJson(bytes.subarray(start, end));
    const problem = json.kind === 'refused' ? json.reason : eventProblem(json.value);
    if (problem !== null) return { problem: `line ${line} is not an event: ${problem}` };
    if (json.kind === 'value') events.push(json.value as JobEvent);
    start = end + 1;
  }
  return { events, end: 'unknown' };
}

function parsePage(bytes: Uint8Array): History | HistoryProblem {
  const json = parseStrictJson(bytes);
  if (json.kind === 'refused') return { problem: `it is neither a replay page nor an event a line: ${json.reason}` };
  if (!isJsonObject(json.value)) return { problem: 'it is neither a replay page nor an event a line' };
  const { events, next_cursor } = json.value;
  if (!Array.isArray(events)) return { problem: 'its events are not an array' };
  for (const [index, event] of events.entries()) {
    const problem = eventProblem(event);
    if (problem !== null) return { problem: `item ${index + 1} of its events is not an event: ${problem}` };
  }
  const page = events as JobEvent[];
  if (next_cursor === null) return { events: page, end: 'terminal' };
  if (!Number.isSafeInteger(next_cursor) || next_cursor !== (page.at(-1)?.seq ?? next_cursor)) {
    return { problem: 'its next_cursor is not the seq of its last event' };
  }
  return { events: page, end: 'more' };
}

/** The index of the first line feed at or after `start`, or the length if there is none. */
function lineEnd(bytes: Uint8Array, start: number): number {
  const end = bytes.indexOf(LINE_FEED, start);
  return end < 0 ? bytes.length : end;
}

const isStringOrNull = (value: unknown) => value === null || typeof value === 'string';

const MEMBER_FORMS: Readonly<Record<keyof JobEvent, (value: unknown) => boolean>> = {
  job_id: (value) => typeof value === 'string',
  seq: Number.isSafeInteger,
  timestamp: (value) => typeof value === 'string',
  kind: (value) => typeof value === 'string',
  data: (value) => value !== undefined,
  hash_version: Number.isSafeInteger,
  prev_hash: isStringOrNull,
  event_hash: isStringOrNull,
};

/** Why a value is not an event. Unknown members are not read, and the digest of the event does not cover them. */
function eventProblem(value: unknown): string | null {
  if (!isJsonObject(value)) return 'it is not a JSON object';
  for (const [name, isRight] of Object.entries(MEMBER_FORMS)) {
    if (!Object.hasOwn(value, name) || !isRight(value[name])) return `its ${name} is missing or malformed`;
  }
  const { kind, data } = value;
  const isOutput = kind === 'stdout' || kind === 'stderr';
  if (isOutput && !(isJsonObject(data) && typeof data['text'] === 'string')) return 'it is output without a text';
  return null;
}
