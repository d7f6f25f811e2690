/**
 * The long texts of answers about a job, as JSON and in pieces, so that nobody has to hold one whole while a slow client
 * takes it: a page of events, and what a program wrote. An extent says how long a text is and which events it is made of;
 * those never change, so every piece is of the same text, however much later it is read.
 */
import type { ArtifactRecord, OutputRecord } from '@svc/protocol';
import { isTerminal } from '@svc/protocol/vocabulary';
import { prepared } from './prepared.ts';
import type {
  ArtifactPieceInput,
  JobKey,
  LongTextKind,
  TextExtent,
  TextExtentInput,
  TextPiece,
  TextPieceInput,
} from './records.ts';
import type { EventTable, LedgerDatabase } from './schema.ts';

/** A piece is told to its end with the event in which it became this long; a text that is no longer is told at once. */
const pieceBytes = 128 * 1024;
/** Events that are read for one piece at most. */
const pieceEventsMax = 1000;

const selectJob = prepared((db, { tenant, job_id }: JobKey) =>
  db.selectFrom('jobs').select(['status', 'chain_seq']).where('tenant', '=', tenant).where('job_id', '=', job_id),
);

interface Range extends JobKey {
  readonly after: number;
  readonly until: number;
  readonly limit: number;
}

const selectEvents = prepared((db, { tenant, job_id, after, until, limit }: Range) =>
  db
    .selectFrom('events')
    .select(['job_id', 'seq', 'timestamp', 'kind', 'data', 'hash_version', 'prev_hash', 'event_hash'])
    .where('tenant', '=', tenant)
    .where('job_id', '=', job_id)
    .where('seq', '>', after)
    .where('seq', '<=', until)
    .orderBy('seq')
    .limit(limit),
);

const selectOfKind = prepared((db, { tenant, job_id, after, until, limit, kind }: Range & { kind: string }) =>
  db
    .selectFrom('events')
    .select(['job_id', 'seq', 'timestamp', 'kind', 'data', 'hash_version', 'prev_hash', 'event_hash'])
    .where('tenant', '=', tenant)
    .where('job_id', '=', job_id)
    .where('seq', '>', after)
    .where('seq', '<=', until)
    .where('kind', '=', kind)
    .orderBy('seq')
    .limit(limit),
);

const selectArtifactRecords = prepared((db, { tenant, job_id }: JobKey) =>
  db
    .selectFrom('artifacts')
    .select(['path', 'size_bytes', 'sha256'])
    .where('tenant', '=', tenant)
    .where('job_id', '=', job_id)
    .orderBy('position'),
);

const selectArtifactPiece = prepared(
  (db, { tenant, job_id, path, offset, bytes }: JobKey & { path: string; offset: number; bytes: number }) =>
    db
      .selectFrom('artifacts')
      .select((row) => row.fn<Uint8Array>('substr', ['content', row.val(offset), row.val(bytes)]).as('content'))
      .where('tenant', '=', tenant)
      .where('job_id', '=', job_id)
      .where('path', '=', path),
);

type Row = Omit<EventTable, 'tenant'>;

function rowsOf(db: LedgerDatabase, kind: LongTextKind, range: Range): Promise<Row[]> {
  switch (kind) {
    case 'events':
      return selectEvents.all(db, range);
    case 'violations':
      return selectOfKind.all(db, { ...range, kind: 'violation' });
    case 'stdout':
    case 'stderr':
      return selectOfKind.all(db, { ...range, kind });
  }
}

/** What one event adds to a text; members of a list are parted by the comma in front of each. */
function textOf(kind: LongTextKind, row: Row): string {
  switch (kind) {
    case 'events':
      return `,${eventText(row)}`;
    case 'violations':
      return `,${row.data}`;
    case 'stdout':
    case 'stderr':
      return escapedLine(JSON.parse(row.data) as OutputRecord);
  }
}

/** An event as the contract has it. Its data is told as it is stored. */
function eventText({ data, ...row }: Row): string {
  const { job_id, seq, timestamp, kind, hash_version, prev_hash, event_hash } = row;
  const before = JSON.stringify({ job_id, seq, timestamp, kind }).slice(0, -1);
  return `${before},"data":${data},${JSON.stringify({ hash_version, prev_hash, event_hash }).slice(1)}`;
}

/** The inside of a JSON string: every record's text, and a newline after each one that is not partial. */
function escapedLine({ text, partial }: OutputRecord): string {
  return JSON.stringify(partial ? text : `${text}\n`).slice(1, -1);
}

function isList(kind: LongTextKind): boolean {
  return kind === 'events' || kind === 'violations';
}

/** See `Store.textExtent`. */
export async function textExtent(
  db: LedgerDatabase,
  { key, kind, after, limit }: TextExtentInput,
): Promise<TextExtent | null> {
  const job = await selectJob.first(db, key);
  if (job === null) return null;
  const rows = await rowsOf(db, kind, { ...key, after, until: Number.MAX_SAFE_INTEGER, limit });
  let bytes = 0;
  let text: string | null = '';
  for (const row of rows) {
    const added = textOf(kind, row);
    bytes += Buffer.byteLength(added);
    text = text === null || bytes > pieceBytes ? null : text + added;
  }
  // There is no comma before the first.
  const cut = isList(kind) && rows.length > 0 ? 1 : 0;
  const until = rows.at(-1)?.seq ?? after;
  const complete = isTerminal(job.status) && until >= job.chain_seq;
  return { bytes: bytes - cut, text: text?.slice(cut) ?? null, from: after, until, complete };
}

/** See `Store.textPiece`. */
export async function textPiece(
  db: LedgerDatabase,
  { key, kind, from, after, until }: TextPieceInput,
): Promise<TextPiece | null> {
  const rows = await rowsOf(db, kind, { ...key, after, until, limit: pieceEventsMax });
  if (rows.length === 0) return null;
  let text = '';
  let last = after;
  for (const row of rows) {
    text += textOf(kind, row);
    last = row.seq;
    if (text.length >= pieceBytes) break;
  }
  return { text: isList(kind) && after === from ? text.slice(1) : text, last };
}

/** See `Store.artifactRecords`. */
export function artifactRecords(db: LedgerDatabase, key: JobKey): Promise<readonly ArtifactRecord[]> {
  return selectArtifactRecords.all(db, key);
}

/** See `Store.artifactPiece`. */
export async function artifactPiece(
  db: LedgerDatabase,
  { key, path, offset, bytes }: ArtifactPieceInput,
): Promise<Uint8Array | null> {
  // SQLite counts from one.
  const found = await selectArtifactPiece.first(db, { ...key, path, offset: offset + 1, bytes });
  return found?.content ?? null;
}
