/** Reads an envelope by itself, without the result that it is about: who signed it, and what it states. */
import {
  decodeEnvelope,
  decodeStatement,
  type ExecutionPredicate,
  findSignature,
  PREDICATE_TYPE,
  parsePublicKey,
  readPredicate,
  resultSubjectName,
  type SignedStatement,
  STATEMENT_MEDIA_TYPE,
} from '@vouchbox/evidence';
import { envelopeBytesMax, sizeText } from '@vouchbox/protocol/vocabulary';

/** The envelope with the signature that is valid under a pinned key, or why there is none. `bytes` is null for a large file. */
export async function signedStatement(
  bytes: Uint8Array<ArrayBuffer> | null,
  pems: readonly (string | null)[],
): Promise<SignedStatement | string> {
  if (bytes === null) return `the envelope is larger than ${sizeText(envelopeBytesMax)}`;
  const decoded = decodeEnvelope(bytes);
  if (decoded.kind === 'refused') return `the envelope is refused: ${decoded.reason}`;
  const parsed = pems.map((pem) => parsePublicKey(pem ?? ''));
  const bad = parsed.find((result) => result.kind === 'refused');
  if (bad !== undefined) return `a public key is refused: ${bad.reason}`;
  const keys = parsed.flatMap((result) => (result.kind === 'key' ? [result.key] : []));
  const found = await findSignature(decoded.envelope, keys);
  if (found === null) return 'no signature is valid under a pinned key';
  return { bytes, envelope: decoded.envelope, ...found };
}

/** A statement's facts about a job, with the digest of its result. */
export interface StatedResult {
  readonly predicate: ExecutionPredicate;
  readonly resultSha256: string;
}

/** What the envelope states about a job's result, or why the envelope contains no such statement. */
export function statedResult({ envelope }: SignedStatement): StatedResult | string {
  if (envelope.payloadType !== STATEMENT_MEDIA_TYPE) return `the payload type is not ${STATEMENT_MEDIA_TYPE}`;
  const decoded = decodeStatement(envelope.payload);
  if (decoded.kind === 'refused') return `the statement is refused: ${decoded.reason}`;
  const { statement } = decoded;
  if (statement.predicateType !== PREDICATE_TYPE) return `the predicate type is not ${PREDICATE_TYPE}`;
  const read = readPredicate(statement.predicate);
  if (read.kind === 'refused') return `the predicate is refused: ${read.reason}`;
  const [subject] = statement.subject;
  const resultSha256 = subject?.digest['sha256'];
  const isOfJob = statement.subject.length === 1 && subject?.name === resultSubjectName(read.predicate.jobId);
  if (!isOfJob || resultSha256 === undefined) return 'its subject is not the result of its job';
  return { predicate: read.predicate, resultSha256 };
}

/** A time as the service writes it, in milliseconds since the epoch; NaN for any other text. */
export function millisecondsOf(time: unknown): number {
  const isTime = typeof time === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(time);
  return isTime ? Date.parse(time) : Number.NaN;
}

/** When the job ended according to the statement, in milliseconds since the epoch; null if it states no end. */
export function statedEnd({ envelope }: SignedStatement): number | null {
  const decoded = decodeStatement(envelope.payload);
  const time = decoded.kind === 'refused' ? Number.NaN : millisecondsOf(decoded.statement.predicate['finishedAt']);
  return Number.isNaN(time) ? null : time;
}
