/**
 * Decides whether a promise was kept: a pinned key signed the promise, and the log had, in time, the result or a statement which
 * says that the job waits. No file can show that something is missing. So a promise counts as broken if no proof is given and a
 * witness saw a given head after the promised time. A holder of the proof can still show otherwise. Works on bytes that were
 * already read, and uses nothing that only Node has. docs/VERIFYING.md, promises.
 */
import {
  canonicalJson,
  decodeStatement,
  isJsonObject,
  type LogKeys,
  logLeaf,
  type PendingPredicate,
  type PromisePredicate,
  parseLogProof,
  readPending,
  readPromise,
  type SignedStatement,
  STATEMENT_MEDIA_TYPE,
  sha256Hex,
  verifyLogProof,
} from '@vouchbox/evidence';
import { EXIT, type ExitCode } from './exit-code.ts';
import { signedHead } from './log-heads.ts';
import { timeText, witnessTimes } from './log-time.ts';
import { type Check, type Facts, failed, passed } from './report.ts';
import { isSameLog } from './same-log.ts';
import { signedStatement, statedResult } from './signed-statement.ts';

/** The bytes of the files, each read once. */
export interface PromiseEvidence {
  readonly promise: Uint8Array<ArrayBuffer>;
  /** PEM texts of the pinned keys; null for a key that was too large to read. */
  readonly publicKeys: readonly (string | null)[];
  readonly tenant: string;
  /** The expected job; if left out, the promise decides which job it is about. */
  readonly job?: string | undefined;
  /** The pinned keys of the log; null if none is pinned, and then only the promise itself is checked. */
  readonly log: LogKeys | null;
  /** The signed envelope of the result; null if there is none. */
  readonly result: Uint8Array<ArrayBuffer> | null;
  readonly logProof: Uint8Array | null;
  /** Statements which say that the job waits, each with its proof. */
  readonly pending: readonly { readonly envelope: Uint8Array<ArrayBuffer>; readonly proof: Uint8Array | null }[];
  /** Signed heads of the log, or proofs that contain such a head. */
  readonly heads: readonly Uint8Array[];
}

export type PromiseWord = 'KEPT' | 'LATE' | 'BROKEN' | 'PENDING' | 'OPEN';

export interface PromiseStanding {
  readonly exitCode: ExitCode;
  readonly checks: readonly Check[];
  /** The word for the promise; null if the evidence was refused. */
  readonly word: PromiseWord | null;
  readonly facts: Facts;
}

/** A check throws this error to end all checks. It never leaves this file. */
class Refusal extends Error {
  readonly check: string;
  readonly exitCode: ExitCode;
  constructor(check: string, exitCode: ExitCode, reason: string) {
    super(reason);
    this.check = check;
    this.exitCode = exitCode;
  }
}

export async function promiseStanding(evidence: PromiseEvidence): Promise<PromiseStanding> {
  const checks: Check[] = [];
  const pass = (name: string, detail: string) => void checks.push(passed(name, detail));
  try {
    const promise = await signedPromise(evidence, pass);
    const { word, detail } = await standing({ ...evidence, stated: promise }, pass);
    const isBroken = word === 'BROKEN' || word === 'LATE';
    if (isBroken) checks.push(failed('promise', detail));
    return {
      exitCode: isBroken ? EXIT.record : EXIT.good,
      checks,
      word,
      facts: factsOf(promise, `${word}: ${detail}`),
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { check, exitCode, message } = error;
    return { exitCode, checks: [...checks, failed(check, message)], word: null, facts: {} };
  }
}

type Pass = (name: string, detail: string) => void;

function factsOf(promise: PromisePredicate, word: string): Facts {
  return {
    job_id: promise.jobId,
    tenant: promise.tenant,
    ...(promise.tenantJobNumber !== undefined && { tenant_job_number: promise.tenantJobNumber }),
    accepted_at: promise.acceptedAt,
    answer_by: promise.answerBy,
    log: promise.logOrigin,
    promise: word,
  };
}

async function signedPromise({ promise, tenant, job, publicKeys }: PromiseEvidence, pass: Pass) {
  const { statement, signed } = await statementIn('signature', promise, publicKeys);
  pass('signature', `by ${signed.key.key_id}`);
  const read = readPromise(statement);
  if (read.kind === 'refused') throw new Refusal('statement', EXIT.profile, `it is no promise: ${read.reason}`);
  const { predicate } = read;
  if (predicate.tenant !== tenant) throw new Refusal('tenant', EXIT.profile, `the tenant is not ${tenant}`);
  if (job !== undefined && predicate.jobId !== job) throw new Refusal('job', EXIT.profile, `the job is not ${job}`);
  pass('statement', `job ${predicate.jobId}, accepted at ${predicate.acceptedAt}`);
  return predicate;
}

async function statementIn(check: string, bytes: Uint8Array<ArrayBuffer>, publicKeys: PromiseEvidence['publicKeys']) {
  const signed = await signedStatement(bytes, publicKeys);
  if (typeof signed === 'string') throw new Refusal(check, EXIT.signature, signed);
  const { payload, payloadType } = signed.envelope;
  const decoded = payloadType === STATEMENT_MEDIA_TYPE ? decodeStatement(payload) : null;
  if (decoded?.kind !== 'statement') throw new Refusal(check, EXIT.profile, 'the signed content is not a statement');
  return { statement: decoded.statement, signed };
}

interface Asked extends PromiseEvidence {
  readonly stated: PromisePredicate;
}

interface Verdict {
  readonly word: PromiseWord;
  readonly detail: string;
}

async function standing(asked: Asked, pass: Pass): Promise<Verdict> {
  const { stated, log } = asked;
  if (log === null) return { word: 'OPEN', detail: 'the log was not checked, because its key is not pinned' };
  if (!isSameLog(stated, log.log))
    throw new Refusal(
      'same_log',
      EXIT.record,
      `it is of the log ${stated.logOrigin}, and the pinned key is of ${log.log.name}`,
    );
  pass('same_log', stated.logOrigin);
  const heads = await witnessedHeads(asked.heads, log);
  if (heads.length > 0)
    pass('heads', heads.map(({ size, time }) => `${size} statements at ${timeText(time)}`).join(', '));
  let [answerBy, isPending] = [stated.answerBy, false];
  for (const { index, answerBy: next } of await provenPending(asked, log, pass)) {
    const late = headWithout(index, answerBy, heads);
    if (late !== null) return lateAt(index, answerBy, late);
    [answerBy, isPending] = [next, true];
  }
  const index = await provenResult(asked, log, pass);
  if (index !== null) {
    const late = headWithout(index, answerBy, heads);
    return late === null
      ? { word: 'KEPT', detail: `the result is statement ${index} of the log` }
      : lateAt(index, answerBy, late);
  }
  const after = headWithout(Number.POSITIVE_INFINITY, answerBy, heads);
  if (after !== null) {
    const detail = `nothing here shows that the log answered by ${answerBy}, although a witness saw its head at ${timeText(after.time)}`;
    return { word: 'BROKEN', detail };
  }
  return isPending
    ? { word: 'PENDING', detail: `the log says that the job waits, and answers by ${answerBy}` }
    : { word: 'OPEN', detail: `no head that a witness saw after ${answerBy} is here` };
}

function lateAt(index: number, answerBy: string, { size, time }: WitnessedHead): Verdict {
  const detail = `the answer is statement ${index}, and the log had ${size} at ${timeText(time)}, after ${answerBy}`;
  return { word: 'LATE', detail };
}

/** How many statements the log had when a witness saw its head, and when that was in seconds since the epoch. */
interface WitnessedHead {
  readonly size: number;
  readonly time: number;
}

/** The heads that the log signed and a pinned witness saw. A head without a witness shows no time. */
async function witnessedHeads(files: readonly Uint8Array[], log: LogKeys): Promise<readonly WitnessedHead[]> {
  const heads: WitnessedHead[] = [];
  for (const bytes of files) {
    const head = await signedHead(bytes, log.log);
    if (typeof head === 'string') throw new Refusal('log_head', EXIT.record, `a head is refused: ${head}`);
    const times = await witnessTimes(head, log.witnesses);
    if (typeof times === 'string') throw new Refusal('witness', EXIT.record, times);
    for (const { time } of times) heads.push({ size: head.size, time });
  }
  return heads;
}

/** A head that a witness saw after `answerBy` and that lacks the statement at `index`; null if there is none. */
function headWithout(index: number, answerBy: string, heads: readonly WitnessedHead[]): WitnessedHead | null {
  const seconds = Date.parse(answerBy) / 1000;
  return heads.find(({ size, time }) => time >= seconds && size <= index) ?? null;
}

interface Proven {
  readonly index: number;
  readonly answerBy: string;
}

/** The log's statements which say that the job waits, in their order. */
async function provenPending(asked: Asked, log: LogKeys, pass: Pass): Promise<readonly Proven[]> {
  const promiseSha256 = sha256Hex(asked.promise);
  const proven: (Proven & Pick<PendingPredicate, 'statedAt'>)[] = [];
  for (const { envelope, proof } of asked.pending) {
    const { statement, signed } = await statementIn('pending', envelope, asked.publicKeys);
    const read = readPending(statement);
    if (read.kind === 'refused')
      throw new Refusal('pending', EXIT.profile, `it is no statement that the job waits: ${read.reason}`);
    const { predicate } = read;
    if (predicate.promiseSha256 !== promiseSha256 || predicate.jobId !== asked.stated.jobId)
      throw new Refusal('pending', EXIT.record, 'a statement is about another promise');
    if (proof === null) continue;
    const index = await placeOf('pending', signed, proof, log);
    pass('pending', `statement ${index}: the job waits at ${predicate.statedAt}, until ${predicate.answerBy}`);
    proven.push({ index, answerBy: predicate.answerBy, statedAt: predicate.statedAt });
  }
  return proven.toSorted((one, other) => (one.statedAt < other.statedAt ? -1 : 1));
}

/** The place of the result in the log; null if nothing shows that the log has it. */
async function provenResult(asked: Asked, log: LogKeys, pass: Pass): Promise<number | null> {
  const { result, logProof, stated } = asked;
  if (result === null) return null;
  const { signed } = await statementIn('result', result, asked.publicKeys);
  const read = statedResult(signed);
  if (typeof read === 'string') throw new Refusal('result', EXIT.profile, `the result is refused: ${read}`);
  const { predicate } = read;
  if (predicate.jobId !== stated.jobId || predicate.tenant !== stated.tenant)
    throw new Refusal('result', EXIT.record, 'the result is of another job');
  if (predicate.tenantJobNumber !== stated.tenantJobNumber)
    throw new Refusal('result', EXIT.record, 'the result has another number than the promise');
  pass('submission', submissionOf(predicate.receipt, stated));
  if (logProof === null) return null;
  const index = await placeOf('log_inclusion', signed, logProof, log);
  pass('log_inclusion', `statement ${index}`);
  return index;
}

/** Checks that a receipt belongs to the promised submission. @throws Refusal if it belongs to another submission */
function submissionOf(receipt: Receipt, { submission }: PromisePredicate): string {
  const promised = Object.entries(submission);
  // A receipt made by a recovery has only the outcome. It is signed, so it counts as an answer.
  const isOfRecovery = promised.every(([name]) => !Object.hasOwn(receipt, name));
  if (isOfRecovery && receipt['terminal_reason'] === 'server_restarted')
    return 'the job ran when the service stopped: its receipt says nothing of the submission';
  const other = promised.find(([name, value]) => !states(own(receipt, name), value));
  if (other === undefined) return 'the result belongs to the promised submission';
  throw new Refusal('submission', EXIT.record, `the result has another ${other[0]} than was promised`);
}

type Receipt = Readonly<Record<string, unknown>>;

const own = (object: Receipt, name: string): unknown => (Object.hasOwn(object, name) ? object[name] : undefined);

/** Whether a member of a receipt states what was promised. It may state more: an interaction also has observations. */
function states(member: unknown, promised: unknown): boolean {
  if (!isJsonObject(member) || !isJsonObject(promised))
    return member !== undefined && canonicalJson(member) === canonicalJson(promised);
  return Object.entries(promised).every(([name, value]) => states(own(member, name), value));
}

async function placeOf(check: string, signed: SignedStatement, proof: Uint8Array, log: LogKeys): Promise<number> {
  const parsed = parseLogProof(proof);
  if (parsed.kind === 'refused') throw new Refusal(check, EXIT.record, `the proof is refused: ${parsed.reason}`);
  const verdict = await verifyLogProof(parsed.proof, logLeaf(signed), log);
  if (verdict.kind === 'failed') throw new Refusal(check, EXIT.record, verdict.reason);
  return verdict.index;
}

/** The parts of the service's answer about a waiting job; null if the value is no such answer. */
export function pendingIn(value: unknown): PromiseEvidence['pending'] | null {
  if (!isJsonObject(value) || !Array.isArray(value['items'])) return null;
  const bytesOf = (text: string) => new TextEncoder().encode(text);
  const items: { envelope: Uint8Array<ArrayBuffer>; proof: Uint8Array | null }[] = [];
  for (const item of value['items'] as unknown[]) {
    if (!isJsonObject(item) || !isJsonObject(item['envelope'])) return null;
    const { envelope, log_proof: proof } = item;
    if (proof !== null && typeof proof !== 'string') return null;
    items.push({ envelope: bytesOf(canonicalJson(envelope)), proof: proof === null ? null : bytesOf(proof) });
  }
  return items;
}
