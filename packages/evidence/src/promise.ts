/**
 * A service with a log makes a promise when it accepts a job. The promise states the job's number in its tenant, the submission,
 * and the time by which the log answers. If the job still waits at that time, the log has a statement that says so and gives a
 * new time. Both are in-toto statements, signed with the key for results. docs/decisions/0066.
 */
import { sha256Hex } from '#sha256';
import type { Unsigned } from './attest.ts';
import { canonicalJson } from './canonical-json.ts';
import { saltBytes } from './predicate.ts';
import type { Statement } from './statement.ts';
import { isJsonObject, type Refused, refused } from './strict-json.ts';

export const PROMISE_TYPE = 'urn:svc:predicate:job-accepted:v1';
export const PENDING_TYPE = 'urn:svc:predicate:job-pending:v1';

/** The members of both statements. Member names are in lowerCamelCase, as in-toto asks. */
interface PromisedJob {
  readonly tenant: string;
  readonly jobId: string;
  /** The job's number in its tenant, counted from 1 in order of acceptance; absent if the service does not state it. */
  readonly tenantJobNumber?: number;
  /** The time by which the log has the result, or a statement that the job waits. */
  readonly answerBy: string;
  /** The name of the log that answers, as in its heads, and the log's key as `NAME+HINT+BASE64`. */
  readonly logOrigin: string;
  readonly logKey: string;
}

export interface PromisePredicate extends PromisedJob {
  readonly acceptedAt: string;
  /** The members of the receipt that describe the submission, under the receipt's own names. */
  readonly submission: Readonly<Record<string, unknown>>;
}

export interface PendingPredicate extends PromisedJob {
  readonly statedAt: string;
  /** The digest of the promise's envelope. */
  readonly promiseSha256: string;
  /** 16 random bytes in hex. Without them, a leaf would confirm a guess of the other members. */
  readonly salt: string;
}

export function promiseStatement(predicate: PromisePredicate): Unsigned {
  const sha256 = sha256Hex(canonicalJson(predicate.submission));
  return { predicate, predicateType: PROMISE_TYPE, subject: [subjectOf(predicate, 'submission', sha256)] };
}

export function pendingStatement(predicate: PendingPredicate): Unsigned {
  const subject = [subjectOf(predicate, 'promise', predicate.promiseSha256)];
  return { predicate, predicateType: PENDING_TYPE, subject };
}

function subjectOf({ jobId }: PromisedJob, what: 'submission' | 'promise', sha256: string) {
  return { digest: { sha256 }, name: `svc://jobs/${jobId}/${what}` };
}

export type PromiseResult = { readonly kind: 'promise'; readonly predicate: PromisePredicate } | Refused;
export type PendingResult = { readonly kind: 'pending'; readonly predicate: PendingPredicate } | Refused;

/** Reads a signed promise: every member must be well-formed, and the subject must be the submission. */
export function readPromise({ predicateType, predicate, subject }: Statement): PromiseResult {
  if (predicateType !== PROMISE_TYPE) return refused(`the predicate type is not ${PROMISE_TYPE}`);
  const problem = malformed(predicate, { ...JOB_FORMS, acceptedAt: isTime, submission: namesProgram });
  if (problem !== null) return refused(problem);
  const promise = predicate as unknown as PromisePredicate;
  return subject[0]?.digest['sha256'] === sha256Hex(canonicalJson(promise.submission))
    ? { kind: 'promise', predicate: promise }
    : refused('its subject is not the submission that it states');
}

/** Reads a signed statement that a job waits. */
export function readPending({ predicateType, predicate, subject }: Statement): PendingResult {
  if (predicateType !== PENDING_TYPE) return refused(`the predicate type is not ${PENDING_TYPE}`);
  const problem = malformed(predicate, { ...JOB_FORMS, statedAt: isTime, promiseSha256: isSha256, salt: isSalt });
  if (problem !== null) return refused(problem);
  const pending = predicate as unknown as PendingPredicate;
  return subject[0]?.digest['sha256'] === pending.promiseSha256
    ? { kind: 'pending', predicate: pending }
    : refused('its subject is not the promise that it states');
}

type Forms = Readonly<Record<string, (value: unknown) => boolean>>;

function malformed(predicate: Readonly<Record<string, unknown>>, forms: Forms): string | null {
  for (const [name, isRight] of Object.entries(forms)) {
    if (!Object.hasOwn(predicate, name) || !isRight(predicate[name])) return `its ${name} is missing or malformed`;
  }
  const { tenantJobNumber: number } = predicate;
  const isNumber = number === undefined || (Number.isSafeInteger(number) && (number as number) > 0);
  return isNumber ? null : 'its tenantJobNumber is malformed';
}

const isSha256 = (value: unknown) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
/** Whether a submission names its program. If it did not, any result would keep the promise. */
const namesProgram = (value: unknown) => isJsonObject(value) && isSha256(value['code_sha256']);
const isText = (value: unknown) => typeof value === 'string' && value !== '';
const SALT = new RegExp(`^[0-9a-f]{${2 * saltBytes}}$`);
const isSalt = (value: unknown) => typeof value === 'string' && SALT.test(value);
/** Whether a time is written as the service writes it, so that times can be compared as texts. */
const isTime = (value: unknown) =>
  typeof value === 'string' &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value) &&
  !Number.isNaN(Date.parse(value));

const JOB_FORMS: Forms = {
  tenant: isText,
  jobId: isText,
  answerBy: isTime,
  logOrigin: isText,
  logKey: isText,
};
