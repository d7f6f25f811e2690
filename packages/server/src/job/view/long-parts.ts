/** The parts of an answer that are read from the store while the answer is sent. */
import type { ArtifactRecord } from '@vouchbox/protocol';
import type { LongTextKind, LongTexts, TextExtent } from '../../store/records/answers.ts';
import type { JobKey } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import { type ArtifactSources, artifactPieces } from '../artifact-content.ts';
import { LongJson } from '../body.ts';

type Pieces = Pick<Store, 'textPiece'>;

/** The texts to put before and after a long text to make it a JSON value. */
const BRACKETS = { before: '[', after: ']' };
const QUOTES = { before: '"', after: '"' };
const AROUND = { events: BRACKETS, violations: BRACKETS, stdout: QUOTES, stderr: QUOTES };

/** A long text in the store. If the extent already has the whole text, nothing more is read. */
export function longText<Kind extends LongTextKind>(
  store: Pieces,
  key: JobKey,
  { kind, extent }: { kind: Kind; extent: TextExtent },
): LongJson<LongTexts[Kind]> {
  const { text, bytes, from, until } = extent;
  const read = {
    bytes,
    async *pieces() {
      for (let after = from; after < until; ) {
        const piece = await store.textPiece({ key, kind, from, after, until });
        if (piece === null) throw gone(key);
        yield piece.content;
        after = piece.last;
      }
    },
  };
  const { before, after } = AROUND[kind];
  return new LongJson(before, text ?? read, after);
}

/** The content of an artifact, in base64. RFC 4648 § 4. */
export function longBase64(sources: ArtifactSources, key: JobKey, record: ArtifactRecord): LongJson<string> {
  const read = {
    bytes: Math.ceil(record.size_bytes / 3) * 4,
    async *pieces() {
      for await (const piece of artifactPieces(sources, key, record)) {
        yield Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString('base64');
      }
    },
  };
  return new LongJson('"', read, '"');
}

/** The error that ends the answer before its declared length, so that the client does not take it for complete. */
function gone({ job_id }: JobKey): Error {
  return new Error(`the job ${job_id} was removed while an answer about it was sent`);
}
