/**
 * A job's promise. It comes with the answer to a submission that waits, or is fetched afterwards, and its signed bytes are kept.
 * This module compares a promise with its submission: the promise must state this submission, this tenant, and a number above
 * those of earlier jobs. `service-verify promise` checks whether the pinned key signed it. Loaded when it is first used.
 */
import { canonicalJson } from './canonical-json.ts';
import type { DsseEnvelope, JobSubmission, SubmissionAnswer } from './contract-types.ts';
import type { Sha256 } from './digest.ts';
import { checkExactBytes, type ExactBytes } from './exact-bytes.ts';
import { EvidenceFailure, refuse, ServiceFailure, TransportFailure } from './failure.ts';
import type { CallOptions } from './job-options.ts';
import type { JobPromise, PromiseWish } from './job-promise.ts';
import { accepted as patient, read, repeated, supports } from './operation.ts';
import type { Session } from './session.ts';

const PROMISE_TYPE = 'urn:svc:predicate:job-accepted:v1';
const ENVELOPE_MEDIA_TYPE = 'application/vnd.dsse.envelope.v1+json';
const STATEMENT_MEDIA_TYPE = 'application/vnd.in-toto+json';
/** The most seconds to wait for a signature. Signing takes milliseconds unless the node that signs is down. */
const signingSecondsMax = 20;

export async function signedPromise(
  session: Session,
  job_id: string,
  { waitSeconds, signal }: CallOptions & { readonly waitSeconds?: number | undefined },
): Promise<ExactBytes> {
  const query = { wait_seconds: waitSeconds };
  const route = 'GET /v1/jobs/{id}/promise';
  return checkExactBytes(await repeated(session, route, { job_id, accept: '*/*', query, signal }), session.sha256);
}

/** A submission and its answer. */
export interface Accepted {
  readonly body: JobSubmission;
  readonly answer: SubmissionAnswer;
  /** Whether the service already had the job. */
  readonly replayed: boolean;
}

/**
 * Returns a function that fetches and compares the promise for the next submitted job. Returns null if the service makes no
 * promises, because an older service would refuse the request. If a promise is not required and does not come, it is null.
 * @throws EvidenceFailure `promise` if a required promise does not come, or if a promise is about another submission
 */
export async function promising(
  session: Session,
  wish: PromiseWish,
  signal: AbortSignal | undefined,
): Promise<((accepted: Accepted) => Promise<JobPromise | null>) | null> {
  if (!(await supports(session, 'job_promises', signal))) {
    if (wish === 'required') refuse('promise', 'the service keeps no log, so it promises nothing');
    return null;
  }
  const above = session.promised.highestNumber;
  return async (accepted) => {
    const { job_id } = accepted.answer;
    try {
      const exact = await (accepted.answer.promise
        ? exactly(session, accepted.answer.promise)
        : signedPromise(patient(session), job_id, { waitSeconds: signingSecondsMax, signal }));
      return await fitting(session, exact, { ...accepted, above }, signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (wish !== 'required' && error instanceof ServiceFailure && MISSING.has(error.code)) return null;
      const isTelling = [ServiceFailure, TransportFailure, EvidenceFailure].some((kind) => error instanceof kind);
      throw isTelling ? Object.assign(error as Error, { job_id }) : error;
    }
  };
}

/** The bytes that were signed: the canonical form of the envelope. */
async function exactly({ sha256 }: Session, envelope: DsseEnvelope): Promise<ExactBytes> {
  try {
    const bytes = new TextEncoder().encode(canonicalJson(envelope));
    return { bytes, sha256: await sha256(bytes), mediaType: ENVELOPE_MEDIA_TYPE };
  } catch {
    return refuse('promise', 'the promise has no canonical form');
  }
}

const MISSING: ReadonlySet<string> = new Set(['promise_unavailable', 'not_promised']);

async function fitting(
  session: Session,
  exact: ExactBytes,
  { body, answer, replayed, above }: Accepted & { readonly above: number },
  signal: AbortSignal | undefined,
): Promise<JobPromise> {
  const { submission, ...promise } = statedIn(exact);
  const { promised } = session;
  promised.tenant ??= (await read(patient(session), 'GET /v1/whoami', { signal })).tenant;
  same('job', promise.job_id, answer.job_id);
  same('tenant', promise.tenant, promised.tenant);
  same('time', promise.accepted_at, answer.created_at);
  for (const [name, digest] of Object.entries(await expectedOf(body, session.sha256)))
    same(name, submission[name], digest);
  for (const file of body.files ?? []) await checkFile(file, submission['input_artifacts'], session.sha256);
  const { tenant_job_number: number } = promise;
  if (number !== null && number <= above && !replayed)
    refuse('promise', `the promise has the number ${number}, and an earlier job of the tenant had ${above}`);
  if (number !== null) promised.highestNumber = Math.max(promised.highestNumber, number);
  return { ...exact, ...promise };
}

/** The members of the future receipt that follow from the submission, without members that only the service knows. */
async function expectedOf(
  { language, runtime = null, code, stdin = null, args = [], env = {} }: JobSubmission,
  sha256: Sha256,
): Promise<Readonly<Record<string, unknown>>> {
  const digest = (text: string) => sha256(new TextEncoder().encode(text));
  return {
    language,
    runtime,
    code_sha256: await digest(code),
    ...(typeof stdin === 'string' && { stdin_sha256: await digest(stdin) }),
    ...(stdin === null && { stdin_sha256: null }),
    args_sha256: args.length === 0 ? null : await digest(canonicalJson(args)),
    env_sha256: Object.keys(env).length === 0 ? null : await digest(canonicalJson(env)),
  };
}

type SubmittedFile = NonNullable<JobSubmission['files']>[number];

async function checkFile(file: SubmittedFile, promised: unknown, sha256: Sha256): Promise<void> {
  const artifacts = Array.isArray(promised)
    ? (promised as { readonly path?: unknown; readonly sha256?: unknown }[])
    : [];
  const found = artifacts.find(({ path }) => path === file.path);
  if (found === undefined) refuse('promise', `the promise lacks the file ${file.path}`);
  if ('content_base64' in file) {
    const bytes = Uint8Array.from(atob(file.content_base64), (character) => character.charCodeAt(0));
    same(file.path, found.sha256, await sha256(bytes));
  } else if (file.blob !== undefined) same(file.path, `sha256:${String(found.sha256)}`, file.blob);
}

function same(what: string, promised: unknown, expected: unknown): void {
  if (promised !== expected) refuse('promise', `the promise has another ${what} than the submission`);
}

type Stated = Omit<JobPromise, keyof ExactBytes> & { readonly submission: Readonly<Record<string, unknown>> };

/** The content of the envelope. The signature is not checked here. */
function statedIn({ bytes }: ExactBytes): Stated {
  const { predicate, predicateType } = payloadOf(bytes);
  const {
    jobId,
    tenant,
    tenantJobNumber = null,
    acceptedAt,
    answerBy,
    logOrigin,
    logKey,
    submission,
  } = objectOf(predicate);
  const texts = [jobId, tenant, acceptedAt, answerBy, logOrigin, logKey];
  const isNumber = tenantJobNumber === null || (Number.isSafeInteger(tenantJobNumber) && Number(tenantJobNumber) > 0);
  const isDated = !Number.isNaN(Date.parse(String(answerBy)));
  if (predicateType !== PROMISE_TYPE || !texts.every((text) => typeof text === 'string') || !isNumber || !isDated)
    return refuse('promise', 'the answer is not a promise of an accepted job');
  return {
    job_id: jobId as string,
    tenant: tenant as string,
    tenant_job_number: tenantJobNumber as number | null,
    accepted_at: acceptedAt as string,
    answer_by: answerBy as string,
    log_origin: logOrigin as string,
    log_key: logKey as string,
    submission: objectOf(submission),
  };
}

function payloadOf(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const { payload, payloadType, signatures } = objectOf(JSON.parse(new TextDecoder().decode(bytes)));
    const isSigned = payloadType === STATEMENT_MEDIA_TYPE && Array.isArray(signatures) && signatures.length > 0;
    if (!isSigned) return refuse('promise', 'the promise is not a signed statement');
    const text = Uint8Array.from(atob(String(payload)), (character) => character.charCodeAt(0));
    return objectOf(JSON.parse(new TextDecoder().decode(text)));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof DOMException)
      return refuse('promise', 'the promise cannot be read');
    throw error;
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return refuse('promise', 'the promise lacks a member');
  return value as Readonly<Record<string, unknown>>;
}
