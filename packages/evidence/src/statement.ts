/**
 * The in-toto Statement v1: a predicate, and the artifacts that it is about. Unknown members are ignored, as in-toto asks. Known
 * members must be right. in-toto attestation spec v1, statement and digest set.
 */
import { isJsonObject, parseStrictJson, type Refused, refused } from './strict-json.ts';

export const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
/** The DSSE `payloadType` of a statement. */
export const STATEMENT_MEDIA_TYPE = 'application/vnd.in-toto+json';

/** One artifact that a statement is about. `digest` maps algorithms to lower-case hex. */
interface StatementSubject {
  readonly name?: string;
  readonly mediaType?: string;
  readonly digest: Readonly<Record<string, string>>;
}

export interface Statement {
  readonly subject: readonly StatementSubject[];
  readonly predicateType: string;
  readonly predicate: Readonly<Record<string, unknown>>;
}

export type StatementResult = { readonly kind: 'statement'; readonly statement: Statement } | Refused;

/** Reads the bytes of a signed payload as a statement. */
export function decodeStatement(bytes: Uint8Array): StatementResult {
  const json = parseStrictJson(bytes);
  return json.kind === 'refused' ? json : readStatement(json.value);
}

/** Reads a parsed value as a statement. */
export function readStatement(value: unknown): StatementResult {
  if (!isJsonObject(value)) return refused('it is not a JSON object');
  const { _type, subject, predicateType, predicate } = value;
  if (_type !== STATEMENT_TYPE) return refused(`its _type is not ${STATEMENT_TYPE}`);
  if (!Array.isArray(subject) || subject.length === 0) return refused('it has no subject');
  const problem = (subject as unknown[]).map(subjectProblem).find((found) => found !== null);
  if (problem !== undefined) return refused(problem);
  if (typeof predicateType !== 'string' || predicateType === '') return refused('it has no predicateType');
  if (!isJsonObject(predicate)) return refused('it has no predicate object');
  return { kind: 'statement', statement: { subject: subject as StatementSubject[], predicateType, predicate } };
}

function subjectProblem(subject: unknown): string | null {
  if (!isJsonObject(subject)) return 'a subject is not an object';
  const { name, mediaType, digest } = subject;
  if (name !== undefined && typeof name !== 'string') return 'the name of a subject is not a string';
  if (mediaType !== undefined && typeof mediaType !== 'string') return 'the mediaType of a subject is not a string';
  if (!isJsonObject(digest) || Object.keys(digest).length === 0) return 'a subject has no digest';
  return Object.entries(digest).every(isDigest) ? null : 'a digest of a subject is malformed';
}

/** Whether a digest is lower-case hex for whole bytes. A SHA-256 must have exactly 32 bytes. */
function isDigest([algorithm, digest]: [string, unknown]): boolean {
  const form = algorithm === 'sha256' ? /^[0-9a-f]{64}$/ : /^(?:[0-9a-f]{2})+$/;
  return typeof digest === 'string' && form.test(digest);
}
