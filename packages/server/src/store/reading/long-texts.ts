/**
 * The long texts in answers about a job: a page of events, and a program's output. These texts are JSON and come in pieces, so
 * that no whole text is held while a slow client reads it. An extent tells a text's length and the events that make up the text.
 * These events never change, so every piece belongs to the same text, however late it is read.
 */
import { HASH_VERSION, resultPartOf } from '@vouchbox/evidence';
import type { ArtifactRecord, OutputRecord, StreamName } from '@vouchbox/protocol';
import { isTerminal, outputText } from '@vouchbox/protocol/vocabulary';
import { Spelled } from '../../ground/json-text.ts';
import { hasKey, JOB, selectBy } from '../by-column.ts';
import { STREAMS } from '../history/output-run.ts';
import { eventsInRange, type HistoryRange, type StoredPart, storedPages } from '../history/stored-history.ts';
import { isRun, readRun } from '../history/stored-runs.ts';
import { type KeptPiece, type KeptText, KeptTexts } from '../kept/kept-texts.ts';
import { prepared, storeOf } from '../prepared.ts';
import type { LongTextKind, TextExtent, TextPiece } from '../records/answers.ts';
import { eventText } from '../records/event-text.ts';
import type { ArtifactPieceInput, TextExtentInput, TextPieceInput } from '../records/inputs.ts';
import type { JobKey, StoredRun } from '../records/rows.ts';
import { nameOfJob } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { pieceBytes, TextBuilder } from './text-builder.ts';

/**
 * The size up to which a text is built as a whole. The pieces of a longer text are read when they are requested. A stream's
 * recorded output is always shorter, unless it has many control characters, which take six characters each in JSON.
 */
const wholeBytesMax = 2 * 2 ** 20;

const selectJob = selectBy('jobs', JOB, ['status', 'chain_seq']);
const selectArtifactRecords = selectBy('artifacts', JOB, ['path', 'size_bytes', 'sha256'], { orderBy: 'position' });

const selectArtifactPiece = prepared((db, piece: JobKey & Omit<ArtifactPieceInput, 'key'>) =>
  db
    .selectFrom('artifacts')
    .select((row) =>
      row.fn<Uint8Array>('substr', ['content', row.val(piece.offset), row.val(piece.bytes)]).as('content'),
    )
    .where(hasKey('artifacts', [...JOB, 'path'], piece)),
);

/** Adds a text, made from events up to `seq`, to the long text of its kind. */
type AddText = (kind: Exclude<LongTextKind, 'events'>, text: string, seq: number) => void;

function addContent(part: StoredPart, range: HistoryRange, add: AddText): void {
  if (isRun(part)) {
    addOutput(part, range, add);
    return;
  }
  const { kind, hash_version, data, seq } = part;
  const name = resultPartOf(kind);
  if (name !== null) add(name, name === 'violations' ? data : escapedLine(data, hash_version), seq);
}

/** Adds a whole run at once, unless the range has only some of its events. */
function addOutput(stored: StoredRun, range: HistoryRange, add: AddText): void {
  if (stored.seq <= range.after || stored.last_seq > range.until) {
    for (const { kind, seq, data } of eventsInRange(range, stored)) {
      add(kind as StreamName, escapedText(outputText(data as OutputRecord)), seq);
    }
    return;
  }
  const run = readRun(stored);
  for (const stream of STREAMS) {
    if (run[stream] !== '') add(stream, escapedText(run[stream]), stored.last_seq);
  }
}

/** The events of a part that are in the range. */
function* eventTexts(part: StoredPart, range: HistoryRange): Generator<{ text: string; seq: number }> {
  if (!isRun(part)) yield { text: eventText({ ...part, data: new Spelled(part.data) }), seq: part.seq };
  else for (const event of eventsInRange(range, part)) yield { text: eventText(event), seq: event.seq };
}

const LINE = '{"text":"';
const PARTIAL = '{"partial":true,"text":"';

/**
 * The inside of a JSON string: a record's text, with a newline if the record is not partial. A hashed event's data is canonical,
 * so its text can be copied. RFC 8785 § 3.2.2.2.
 */
function escapedLine(data: string, hash_version: number): string {
  if (hash_version === HASH_VERSION && data.startsWith(LINE)) return `${data.slice(LINE.length, -2)}\\n`;
  if (hash_version === HASH_VERSION && data.startsWith(PARTIAL)) return data.slice(PARTIAL.length, -2);
  return escapedText(outputText(JSON.parse(data) as OutputRecord));
}

/** A text as the inside of a JSON string. */
function escapedText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** The length of one of the job's texts, and the text itself if it is short; null if the tenant has no such job. */
export async function textExtent(
  db: StoreDatabase,
  { key, kind, after, limit }: TextExtentInput,
): Promise<TextExtent | null> {
  const job = await selectJob.first(db, key);
  if (job === null) return null;
  // A job's events are numbered without gaps.
  const until = Math.max(after, Math.min(after + limit, job.chain_seq));
  const text = await wholeText(db, { ...key, kind, after, until });
  const complete = isTerminal(job.status) && until >= job.chain_seq;
  return { bytes: text.bytes, text: shortText(text), from: after, until, complete };
}

/** The next piece of a text whose extent is known; null if its events are gone. */
export async function textPiece(
  db: StoreDatabase,
  { key, kind, from, after, until }: TextPieceInput,
): Promise<TextPiece | null> {
  if ((await selectJob.first(db, key)) === null) return null;
  const kept = textsOf(db).get(nameOf({ ...key, kind, after: from, until }));
  if (kept === undefined) return readPiece(db, { ...key, kind, from, after, until });
  const piece = kept.pieces.find((candidate) => candidate.after === after);
  return piece === undefined ? null : { content: piece.content, last: piece.last };
}

interface Asked extends HistoryRange {
  readonly kind: LongTextKind;
}

const kept = new WeakMap<object, KeptTexts>();

function textsOf(db: StoreDatabase): KeptTexts {
  const store = storeOf(db);
  const texts = kept.get(store) ?? new KeptTexts();
  kept.set(store, texts);
  return texts;
}

function nameOf({ kind, after, until, ...key }: Asked): string {
  return `${kind} ${nameOfJob(key)} ${after} ${until}`;
}

/** Builds a whole text. If the text is too long for that, the result has no pieces. */
async function wholeText(db: StoreDatabase, asked: Asked): Promise<KeptText> {
  const texts = textsOf(db);
  const known = texts.get(nameOf(asked));
  if (known !== undefined) return known;
  const made = asked.kind === 'events' ? { events: await eventsText(db, asked) } : await contentTexts(db, asked);
  for (const [kind, text] of Object.entries(made) as [LongTextKind, KeptText][]) {
    if (text.bytes <= wholeBytesMax) texts.keep(nameOf({ ...asked, kind }), text);
  }
  return made[asked.kind as keyof typeof made];
}

async function eventsText(db: StoreDatabase, range: HistoryRange): Promise<KeptText> {
  const builder = new TextBuilder({ isList: true, from: range.after, bytesMax: wholeBytesMax });
  for await (const page of storedPages(db, range)) {
    for (const part of page) for (const { text, seq } of eventTexts(part, range)) builder.add(text, seq);
  }
  return builder.end(range.until);
}

/** The texts of output and violations. They are read together, because a result needs all of them. */
async function contentTexts(
  db: StoreDatabase,
  range: HistoryRange,
): Promise<Record<Exclude<LongTextKind, 'events'>, KeptText>> {
  const builder = (isList: boolean) => new TextBuilder({ isList, from: range.after, bytesMax: wholeBytesMax });
  const builders = { stdout: builder(false), stderr: builder(false), violations: builder(true) };
  const add: AddText = (kind, text, seq) => builders[kind].add(text, seq);
  for await (const page of storedPages(db, range)) for (const part of page) addContent(part, range, add);
  const { stdout, stderr, violations } = builders;
  return { stdout: stdout.end(range.until), stderr: stderr.end(range.until), violations: violations.end(range.until) };
}

/** The piece after an event; null if the text has nothing after it. */
async function readPiece(
  db: StoreDatabase,
  { kind, from, ...range }: Asked & { readonly from: number },
): Promise<KeptPiece | null> {
  const { after, until } = range;
  const builder = new TextBuilder({
    isList: kind === 'events' || kind === 'violations',
    from,
    after,
    bytesMax: Number.POSITIVE_INFINITY,
  });
  // The last piece must end where the text ends, so that no further piece is requested. So one event is read ahead.
  for await (const page of storedPages(db, range)) {
    for (const part of page) {
      for (const { text, seq } of textsOfKind(part, kind, range)) {
        const [piece] = builder.pieces;
        if (piece !== undefined) return piece;
        builder.add(text, seq);
      }
    }
  }
  return builder.end(until).pieces[0] ?? null;
}

/** The texts of one kind in one part of the history. */
function textsOfKind(part: StoredPart, kind: LongTextKind, range: HistoryRange): { text: string; seq: number }[] {
  if (kind === 'events') return [...eventTexts(part, range)];
  const texts: { text: string; seq: number }[] = [];
  addContent(part, range, (name, text, seq) => {
    if (name === kind) texts.push({ text, seq });
  });
  return texts;
}

/** The whole text if it is short; otherwise null. */
function shortText({ bytes, pieces }: KeptText): string | null {
  if (bytes > pieceBytes) return null;
  return pieces.map(({ content }) => Buffer.from(content).toString()).join('');
}

/** The artifacts of the job without their content, in order. */
export function artifactRecords(db: StoreDatabase, key: JobKey): Promise<readonly ArtifactRecord[]> {
  return selectArtifactRecords.all(db, key);
}

/** Some bytes of one artifact; null if it is gone. */
export async function artifactPiece(
  db: StoreDatabase,
  { key, path, offset, bytes }: ArtifactPieceInput,
): Promise<Uint8Array | null> {
  // SQLite counts from one.
  const found = await selectArtifactPiece.first(db, { ...key, path, offset: offset + 1, bytes });
  return found?.content ?? null;
}
