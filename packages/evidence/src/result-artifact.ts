/**
 * The result artifact: a job's outcome and its program's output, as one canonical JSON text. It is made once, and stored,
 * digested and served byte for byte. It is the attestation's subject. Spec § Result artifact.
 */
import type { JobEvent, OutputRecord, TerminalReason, TerminalStatus, Violation } from '@vouchbox/protocol';
import { canonicalJson } from './canonical-json.ts';
import { foldOutput, outputRecords, violationsOf } from './output.ts';
import { isJsonObject, parseStrictJson, type Refused, refused } from './strict-json.ts';
import { bytesOfPieces } from './text-bytes.ts';

export const RESULT_ARTIFACT_TYPE = 'urn:svc:execution-result:v1';
export const RESULT_ARTIFACT_SCHEMA_VERSION = 1;

/** A terminal job as stored. Its tenant is authoritative, even if an old receipt has another. */
export interface TerminalJob {
  readonly tenant: string;
  readonly job_id: string;
  readonly status: TerminalStatus;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly terminal_reason: TerminalReason | null;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string;
  readonly duration_ms: number | null;
  readonly truncated: boolean;
  readonly receipt_sha256: string;
}

export interface ResultArtifact extends TerminalJob {
  readonly _type: typeof RESULT_ARTIFACT_TYPE;
  readonly schema_version: typeof RESULT_ARTIFACT_SCHEMA_VERSION;
  readonly stdout: string;
  readonly stderr: string;
  readonly violations: readonly Violation[];
}

/** The name of a job's result in statements. */
export function resultSubjectName(job_id: string): string {
  return `svc://jobs/${job_id}/result`;
}

/** The exact bytes of a job's artifact, made from the job's events. Members are written in canonical order, to avoid sorting. */
export function resultArtifactBytes(job: TerminalJob, events: readonly JobEvent[]): Uint8Array<ArrayBuffer> {
  return bytesOfPieces(() => artifactTexts(job, events));
}

type Output = 'stdout' | 'stderr';

/** The text of the artifact in pieces. It may be long: JSON may need six characters for each byte of a mebibyte of output. */
function* artifactTexts(job: TerminalJob, events: readonly JobEvent[]): Generator<string> {
  const before: Omit<ResultArtifact, keyof typeof after | Output> = {
    _type: RESULT_ARTIFACT_TYPE,
    created_at: job.created_at,
    duration_ms: job.duration_ms,
    exit_code: job.exit_code,
    finished_at: job.finished_at,
    job_id: job.job_id,
    receipt_sha256: job.receipt_sha256,
    schema_version: RESULT_ARTIFACT_SCHEMA_VERSION,
    signal: job.signal,
    started_at: job.started_at,
    status: job.status,
  };
  const after = {
    tenant: job.tenant,
    terminal_reason: job.terminal_reason,
    truncated: job.truncated,
    violations: violationsOf(events),
  };
  yield `${canonicalJson(before).slice(0, -1)},"stderr":"`;
  yield* outputTexts(outputRecords(events, 'stderr'));
  yield '","stdout":"';
  yield* outputTexts(outputRecords(events, 'stdout'));
  yield `",${canonicalJson(after).slice(1)}`;
}

/** How many characters of output are written as JSON at a time. */
const pieceChars = 16 * 1024;

/** The folded output as JSON without its quotes. Two records that share a surrogate pair can only be written together. */
function* outputTexts(records: readonly OutputRecord[]): Generator<string> {
  const charsMax = records.every(({ text }) => text.isWellFormed()) ? pieceChars : Number.POSITIVE_INFINITY;
  for (let first = 0; first < records.length; ) {
    let last = first;
    for (let chars = 0; last < records.length && chars < charsMax; last++) chars += records[last]?.text.length ?? 0;
    yield canonicalJson(foldOutput(records.slice(first, last))).slice(1, -1);
    first = last;
  }
}

export type ResultArtifactResult =
  | { readonly kind: 'artifact'; readonly artifact: Readonly<Record<string, unknown>> }
  | Refused;

/**
 * Reads type, version and the named members from an artifact's bytes. A check against the predicate needs them.
 */
export function decodeResultArtifact(bytes: Uint8Array): ResultArtifactResult {
  const json = parseStrictJson(bytes);
  if (json.kind === 'refused') return json;
  if (!isJsonObject(json.value)) return refused('it is not a JSON object');
  const { _type, schema_version } = json.value;
  if (_type !== RESULT_ARTIFACT_TYPE) return refused(`its _type is not ${RESULT_ARTIFACT_TYPE}`);
  if (schema_version !== RESULT_ARTIFACT_SCHEMA_VERSION)
    return refused(`its schema_version is not ${RESULT_ARTIFACT_SCHEMA_VERSION}`);
  return { kind: 'artifact', artifact: json.value };
}
