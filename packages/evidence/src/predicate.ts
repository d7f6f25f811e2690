/**
 * The content of an attestation about a job: its outcome, the observed posture, and the whole receipt, unchanged. The members
 * beside the receipt repeat what policies most often ask for. A predicate that contradicts its receipt is refused. Signing adds
 * nothing random, so two signers make the same bytes.
 */
import type { TerminalStatus } from '@vouchbox/protocol';
import { RESULT_MEDIA_TYPE, TERMINAL_STATUSES } from '@vouchbox/protocol/vocabulary';
import { verifyReceipt } from './receipt.ts';
import type { TerminalJob } from './result-artifact.ts';
import { isJsonObject, jsonObjectIn, type Refused, refused } from './strict-json.ts';

/** How many random bytes a salt has. It is written in hex. */
export const saltBytes = 16;

export const PREDICATE_TYPE = 'urn:svc:predicate:execution-result:v1';

/** A receipt of any version, as stored. */
export type StoredReceipt = Readonly<Record<string, unknown>>;

/** Member names are in lowerCamelCase, as in-toto asks; the receipt inside keeps its own names. */
export interface ExecutionPredicate {
  readonly tenant: string;
  readonly jobId: string;
  readonly status: TerminalStatus;
  readonly exitCode: number | null;
  readonly finishedAt: string;
  /** Null if no executor observed the cell. */
  readonly isolationClass: string | null;
  readonly networking: string | null;
  readonly resultMediaType: string;
  readonly resultSizeBytes: number;
  readonly receiptSha256: string;
  /** Null if the receipt is from an older version and has no summary of the job's chain. */
  readonly eventChainHead: string | null;
  readonly eventCount: number | null;
  readonly receipt: StoredReceipt;
  /** 16 random bytes in hex. Without them, a digest would confirm a guess of the other members. Absent in older statements. */
  readonly salt?: string;
  /** The job's number in its tenant, counted from 1 in order of acceptance. Absent if the service does not state numbers. */
  readonly tenantJobNumber?: number;
  /** Members that this version does not know. A reader shows such members, but bases no decision on them. */
  readonly also?: Readonly<Record<string, unknown>>;
}

/** Values kept with a job only for its predicate; null for a job from an earlier version. */
export interface KeptForPredicate {
  readonly salt: string | null;
  readonly tenant_number: number | null;
  /** The predicate's member `also`, as JSON text. */
  readonly also?: string | null;
}

/** Why a kept value cannot be stated; null if all values can. No digest covers kept values. */
export function keptProblem({ salt, tenant_number, also = null }: KeptForPredicate): string | null {
  if (salt !== null && !OPTIONAL_FORMS.salt(salt)) return 'the salt is malformed';
  if (also !== null && jsonObjectIn(new TextEncoder().encode(also)) === null)
    return 'the members beside the receipt are malformed';
  return tenant_number === null || OPTIONAL_FORMS.tenantJobNumber(tenant_number) ? null : 'the number is malformed';
}

/** The predicate for a job whose result artifact has this many bytes. */
export function executionPredicate(
  job: TerminalJob,
  receipt: StoredReceipt,
  { resultSizeBytes, salt, tenant_number, also = null }: KeptForPredicate & { readonly resultSizeBytes: number },
): ExecutionPredicate {
  const { isolationClass, networking, eventChainHead, eventCount } = observedOf(receipt);
  return {
    ...(also !== null && { also: JSON.parse(also) as Readonly<Record<string, unknown>> }),
    eventChainHead,
    eventCount,
    exitCode: job.exit_code,
    finishedAt: job.finished_at,
    isolationClass,
    jobId: job.job_id,
    networking,
    receipt,
    receiptSha256: job.receipt_sha256,
    resultMediaType: RESULT_MEDIA_TYPE,
    resultSizeBytes,
    ...(salt !== null && { salt }),
    status: job.status,
    tenant: job.tenant,
    ...(tenant_number !== null && { tenantJobNumber: tenant_number }),
  };
}

export type PredicateResult = { readonly kind: 'predicate'; readonly predicate: ExecutionPredicate } | Refused;

/** Reads a signed predicate. Every member must be well-formed, the receipt must be whole, and nothing may contradict it. */
export function readPredicate(value: Readonly<Record<string, unknown>>): PredicateResult {
  for (const [name, isRight] of Object.entries(MEMBER_FORMS)) {
    if (!Object.hasOwn(value, name) || !isRight(value[name])) return refused(`its ${name} is missing or malformed`);
  }
  for (const [name, isRight] of Object.entries(OPTIONAL_FORMS)) {
    if (Object.hasOwn(value, name) && !isRight(value[name])) return refused(`its ${name} is malformed`);
  }
  const predicate = value as unknown as ExecutionPredicate;
  const receipt = verifyReceipt(predicate.receipt);
  if (receipt.kind === 'broken') return refused('its receipt does not have the digest that it states');
  if (receipt.receipt_sha256 !== predicate.receiptSha256)
    return refused('its receiptSha256 is not that of its receipt');
  const contradicted = contradictedMember(predicate);
  return contradicted === null
    ? { kind: 'predicate', predicate }
    : refused(`its ${contradicted} contradicts its receipt`);
}

/** The receipt's posture and chain, under the predicate's names. */
function observedOf(receipt: StoredReceipt) {
  const chain = isJsonObject(receipt['event_chain']) ? receipt['event_chain'] : {};
  return {
    isolationClass: stringOrNull(receipt['isolation_class']),
    networking: stringOrNull(receipt['networking']),
    eventChainHead: stringOrNull(chain['head']),
    eventCount: typeof chain['count'] === 'number' ? chain['count'] : null,
  };
}

/** The member that contradicts the receipt; null if none does. A member that an old receipt lacks cannot contradict it. */
function contradictedMember(predicate: ExecutionPredicate): string | null {
  const { receipt } = predicate;
  const stated = {
    tenant: receipt['tenant'],
    jobId: receipt['job_id'],
    status: receipt['status'],
    exitCode: receipt['exit_code'],
    finishedAt: receipt['finished_at'],
  };
  for (const [name, value] of Object.entries({ ...stated, ...observedOf(receipt) })) {
    if (value !== undefined && value !== predicate[name as keyof ExecutionPredicate]) return name;
  }
  return null;
}

const isString = (value: unknown) => typeof value === 'string' && value !== '';
const isStringOrNull = (value: unknown) => value === null || isString(value);
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
const isSha256 = (value: unknown) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

type OptionalMember = 'salt' | 'tenantJobNumber' | 'also';
type Form = (value: unknown) => boolean;

const SALT = new RegExp(`^[0-9a-f]{${2 * saltBytes}}$`);

const OPTIONAL_FORMS: Readonly<Record<OptionalMember, Form>> = {
  salt: (value) => typeof value === 'string' && SALT.test(value),
  tenantJobNumber: (value) => isCount(value) && value !== 0,
  also: isJsonObject,
};

const MEMBER_FORMS: Readonly<Record<Exclude<keyof ExecutionPredicate, OptionalMember>, Form>> = {
  tenant: isString,
  jobId: isString,
  status: (value) => (TERMINAL_STATUSES as readonly unknown[]).includes(value),
  exitCode: (value) => value === null || Number.isSafeInteger(value),
  finishedAt: isString,
  isolationClass: isStringOrNull,
  networking: isStringOrNull,
  resultMediaType: isString,
  resultSizeBytes: isCount,
  receiptSha256: isSha256,
  eventChainHead: (value) => value === null || isSha256(value),
  eventCount: (value) => value === null || isCount(value),
  receipt: isJsonObject,
};

function stringOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
