/**
 * Checks an attestation against a result and pinned keys, offline: that one of the keys signed these bytes, that the bytes
 * describe this result, and that they are a complete statement of the service's profile about the expected job and tenant.
 * Success proves integrity and possession of the key, but not that the program succeeded. Spec § Authentication 10.
 */
import { sha256Hex } from '#sha256';
import { decodeEnvelope, type Envelope, type EnvelopeSignature, preAuthEncoding } from './dsse.ts';
import type { SignedStatement } from './log/log-entry.ts';
import { type ExecutionPredicate, PREDICATE_TYPE, readPredicate } from './predicate.ts';
import { type PinnedKey, parsePublicKey, verifySignature } from './public-key.ts';
import { decodeResultArtifact, resultSubjectName } from './result-artifact.ts';
import { decodeStatement, STATEMENT_MEDIA_TYPE, type Statement } from './statement.ts';

/** The kind of failure. A verifier's exit code follows from it. */
export type VerificationFailure = 'signature' | 'subject' | 'profile';

/** The checks in their order, each with the kind of its failure. */
export const VERIFICATION_STEPS = {
  key: 'signature',
  envelope: 'signature',
  signature: 'signature',
  payload_type: 'profile',
  statement: 'profile',
  subject_digest: 'subject',
  subject_name: 'profile',
  media_type: 'profile',
  predicate: 'profile',
  tenant: 'profile',
  result: 'profile',
} as const satisfies Record<string, VerificationFailure>;
export type VerificationStep = keyof typeof VERIFICATION_STEPS;

export interface EnvelopeVerificationInput {
  /** The bytes of the envelope, read once. */
  readonly envelope: Uint8Array;
  /** The bytes of the result artifact, read once. */
  readonly subject: Uint8Array;
  /** The PEM of every pinned key. One key's signature is enough, but a malformed key is refused. */
  readonly publicKeys: readonly string[];
  readonly expected: { readonly tenant: string; readonly subjectName: string; readonly mediaType: string };
}

/** A check that passed, and what it found, for a reader. */
export interface PassedStep {
  readonly step: VerificationStep;
  readonly detail: string;
}

export type EnvelopeVerification =
  | {
      readonly kind: 'verified';
      readonly key_id: string;
      readonly predicate: ExecutionPredicate;
      /** The envelope, and the first of its signatures that is valid. */
      readonly statement: SignedStatement;
      readonly passed: readonly PassedStep[];
    }
  | {
      readonly kind: 'refused';
      readonly failure: VerificationFailure;
      readonly step: VerificationStep;
      readonly reason: string;
      readonly passed: readonly PassedStep[];
    };

/** Makes every check in order and stops at the first that fails. */
export async function verifyEnvelope(input: EnvelopeVerificationInput): Promise<EnvelopeVerification> {
  const passed: PassedStep[] = [];
  const pass: Pass = (step, detail) => passed.push({ step, detail });
  try {
    const keys = pinnedKeys(input.publicKeys, pass);
    const envelope = readEnvelope(input.envelope, pass);
    const signed = await signatureIn(envelope, keys, pass);
    const statement = readSignedStatement(envelope, pass);
    matchSubject(statement, input, pass);
    const predicate = readSignedPredicate(statement, input, pass);
    checkResult(input.subject, predicate, pass);
    return {
      kind: 'verified',
      key_id: signed.key.key_id,
      predicate,
      statement: { bytes: input.envelope, envelope, ...signed },
      passed,
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { step, message } = error;
    return { kind: 'refused', failure: VERIFICATION_STEPS[step], step, reason: message, passed };
  }
}

/** Notes that a check passed. */
type Pass = (step: VerificationStep, detail: string) => void;

/**
 * The first signature that is valid under any of the keys, and that key; null if none is valid. `keyid` is a hint that anyone can
 * write, so it is not read. Nothing about the payload is known yet.
 */
export async function findSignature(envelope: Envelope, keys: readonly PinnedKey[]): Promise<FoundSignature | null> {
  const message = preAuthEncoding(envelope.payloadType, envelope.payload);
  for (const signature of envelope.signatures) {
    for (const key of keys) if (await verifySignature(key, message, signature.sig)) return { key, signature };
  }
  return null;
}

/** A signature, and the key under which it is valid. */
export interface FoundSignature {
  readonly key: PinnedKey;
  readonly signature: EnvelopeSignature;
}

/** A check throws this error to end all checks. The error never leaves this file. */
class Refusal extends Error {
  readonly step: VerificationStep;
  constructor(step: VerificationStep, reason: string) {
    super(reason);
    this.step = step;
  }
}

function pinnedKeys(pems: readonly string[], pass: Pass): PinnedKey[] {
  if (pems.length === 0) throw new Refusal('key', 'no public key is pinned');
  const keys = pems.map((pem) => {
    const result = parsePublicKey(pem);
    if (result.kind === 'refused') throw new Refusal('key', `a public key is refused: ${result.reason}`);
    return result.key;
  });
  pass('key', `${keys.length} pinned`);
  return keys;
}

function readEnvelope(bytes: Uint8Array, pass: Pass): Envelope {
  const result = decodeEnvelope(bytes);
  if (result.kind === 'refused') throw new Refusal('envelope', `the envelope is refused: ${result.reason}`);
  pass('envelope', `${bytes.length} bytes`);
  return result.envelope;
}

async function signatureIn(envelope: Envelope, keys: readonly PinnedKey[], pass: Pass): Promise<FoundSignature> {
  const found = await findSignature(envelope, keys);
  if (found === null) throw new Refusal('signature', 'no signature is valid under a pinned key');
  pass('signature', `by ${found.key.key_id}`);
  return found;
}

function readSignedStatement({ payload, payloadType }: Envelope, pass: Pass): Statement {
  if (payloadType !== STATEMENT_MEDIA_TYPE) {
    throw new Refusal('payload_type', `the payload type is not ${STATEMENT_MEDIA_TYPE}`);
  }
  pass('payload_type', payloadType);
  const result = decodeStatement(payload);
  if (result.kind === 'refused') throw new Refusal('statement', `the statement is refused: ${result.reason}`);
  const { predicateType, subject } = result.statement;
  if (subject.length !== 1) throw new Refusal('statement', `the statement has ${subject.length} subjects, not one`);
  if (predicateType !== PREDICATE_TYPE) throw new Refusal('statement', `the predicate type is not ${PREDICATE_TYPE}`);
  pass('statement', predicateType);
  return result.statement;
}

/** Requires that the one subject has the digest of the file, the expected name and the expected media type. */
function matchSubject(statement: Statement, { subject, expected }: EnvelopeVerificationInput, pass: Pass): void {
  const { subjectName, mediaType } = expected;
  const [stated] = statement.subject;
  const sha256 = sha256Hex(subject);
  if (stated?.digest['sha256'] !== sha256) {
    throw new Refusal('subject_digest', `the subject does not have the digest of the file, ${sha256}`);
  }
  pass('subject_digest', `sha256:${sha256}`);
  if (stated.name !== subjectName) throw new Refusal('subject_name', `the subject is not named ${subjectName}`);
  pass('subject_name', subjectName);
  if (stated.mediaType !== mediaType) throw new Refusal('media_type', `the media type is not ${mediaType}`);
  pass('media_type', mediaType);
}

function readSignedPredicate(
  statement: Statement,
  { subject, expected }: EnvelopeVerificationInput,
  pass: Pass,
): ExecutionPredicate {
  const result = readPredicate(statement.predicate);
  if (result.kind === 'refused') throw new Refusal('predicate', `the predicate is refused: ${result.reason}`);
  const { predicate } = result;
  const mismatch = [
    resultSubjectName(predicate.jobId) !== expected.subjectName && 'jobId',
    predicate.resultMediaType !== expected.mediaType && 'resultMediaType',
    predicate.resultSizeBytes !== subject.length && 'resultSizeBytes',
  ].find((name) => name !== false);
  if (mismatch !== undefined) throw new Refusal('predicate', `the predicate's ${mismatch} is not that of the subject`);
  pass('predicate', `receipt sha256:${predicate.receiptSha256}`);
  if (predicate.tenant !== expected.tenant) throw new Refusal('tenant', `the tenant is not ${expected.tenant}`);
  pass('tenant', predicate.tenant);
  return predicate;
}

/** Requires that the result's members equal the predicate's. */
function checkResult(bytes: Uint8Array, predicate: ExecutionPredicate, pass: Pass): void {
  const result = decodeResultArtifact(bytes);
  if (result.kind === 'refused') throw new Refusal('result', `the result artifact is refused: ${result.reason}`);
  const expected = {
    tenant: predicate.tenant,
    job_id: predicate.jobId,
    status: predicate.status,
    exit_code: predicate.exitCode,
    finished_at: predicate.finishedAt,
    receipt_sha256: predicate.receiptSha256,
  };
  for (const [name, value] of Object.entries(expected)) {
    if (result.artifact[name] !== value) throw new Refusal('result', `the result artifact has another ${name}`);
  }
  pass('result', `job ${predicate.jobId}, ${bytes.length} bytes`);
}
