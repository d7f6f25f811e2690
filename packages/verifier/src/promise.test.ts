/** What `service-verify promise` says about a promise: kept, late, broken, pending or open, and what it refuses. */
import { sign } from 'node:crypto';
import {
  decodeEnvelope,
  type EnvelopeSigner,
  encodeBase64,
  type PendingPredicate,
  type PromisePredicate,
  pendingStatement,
  promiseStatement,
  sha256Hex,
  signStatement,
} from '@vouchbox/evidence';
import { afterAll, describe, expect, test } from 'vitest';
import { TestLog, testCosignature, testNoteKey } from '../../../test/rig/test-log.ts';
import { attestedJob, type JobOptions, Scratch, type SigningKey, signingKey } from '../test/attested-job.ts';
import { serviceVerify } from './service-verify.ts';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());
let written = 0;
const file = (content: string | Uint8Array) => scratch.write(`file-${++written}`, content);

const job = attestedJob();
const other = attestedJob({ job_id: 'job_0197c0de-0000-7000-8000-000000000002', key: job.key });
const { code_sha256, language, args_sha256 } = job.receipt;
const log = new TestLog();
const witness = testNoteKey('witness.example', 'cosignature');

const signerOf = ({ key_id, privateKey }: SigningKey): EnvelopeSigner => ({
  key_id,
  sign: (message) => new Uint8Array(sign(null, message, privateKey)),
});

const seconds = (time: string) => Date.parse(time) / 1000;
const [ACCEPTED, ANSWER_BY, NEXT] = [9, 10, 11].map(
  (hour) => `2026-01-01T${`${hour}`.padStart(2, '0')}:00:00.000Z`,
) as [string, string, string];
const JUST_BEFORE = seconds(ANSWER_BY) - 1;

const PROMISED: PromisePredicate = {
  tenant: job.tenant,
  jobId: job.job_id,
  tenantJobNumber: 7,
  acceptedAt: ACCEPTED,
  answerBy: ANSWER_BY,
  logOrigin: 'log.example/log/1',
  logKey: log.key.text,
  submission: { code_sha256, language, args_sha256 },
};

const promiseOf = (changes: Partial<PromisePredicate> = {}, key = job.key) =>
  signStatement(promiseStatement({ ...PROMISED, ...changes }), signerOf(key)).envelope;
const promise = promiseOf();

const waits = (changes: Partial<PendingPredicate> = {}) => {
  const { submission: _, acceptedAt: _accepted, ...promised } = PROMISED;
  const statement = { ...promised, answerBy: NEXT, statedAt: '2026-01-01T09:59:30.000Z', salt: '5a'.repeat(16) };
  const all = { ...statement, promiseSha256: sha256Hex(promise), ...changes };
  return signStatement(pendingStatement(all), signerOf(job.key)).envelope;
};

// The log has, in order: its opening, another statement, the statement about the waiting job, more statements and the result.
log.append(new TextEncoder().encode('something else'));
const early = log.size;
const pendingAt = log.appendSigned(waits(), job.key.publicKeyPem);
log.append(new TextEncoder().encode('more'));
const later = log.size;
const resultAt = log.appendSigned(job.attestation.envelope, job.key.publicKeyPem);
const otherAt = log.appendSigned(other.attestation.envelope, job.key.publicKeyPem);

const head = (size: number, time: number | null) =>
  file(log.checkpoint(size, ...(time === null ? [] : [testCosignature(witness, log.headText(size), time)])));

function pendingFile(envelope: Uint8Array, proof: string | null): string {
  const decoded = decodeEnvelope(envelope);
  if (decoded.kind === 'refused') throw new Error(decoded.reason);
  const { payload, payloadType, signatures } = decoded.envelope;
  const signed = signatures.map(({ keyid, sig }) => ({ keyid, sig: encodeBase64(sig) }));
  const dsse = { signatures: signed, payloadType, payload: encodeBase64(payload) };
  return file(JSON.stringify({ items: [{ stated_at: 'x', answer_by: 'y', envelope: dsse, log_proof: proof }] }));
}

const logKey = file(log.key.text);
const result = ['--envelope', file(job.attestation.envelope)];
const proof = ['--log-proof', file(log.proof(resultAt))];
const pending = ['--pending', pendingFile(waits(), log.proof(pendingAt))];

async function verify(bytes: Uint8Array, ...words: readonly string[]) {
  const fixed = [file(bytes), '--public-key', file(job.key.publicKeyPem), '--tenant', job.tenant, '--json'];
  const { exitCode, stdout, stderr } = await serviceVerify(['promise', ...fixed, ...words]);
  if (stdout === '') return { exitCode, stderr };
  const said = JSON.parse(stdout) as {
    checks: { check: string; good: boolean; detail: string }[];
    facts: { promise?: string };
  };
  const failed = said.checks.flatMap(({ check, good }) => (good ? [] : [check]));
  return { exitCode, word: said.facts.promise?.split(':')[0], failed };
}

const pinned = ['--log-key', logKey, '--witness', file(witness.text)];
const good = (word: string) => ({ exitCode: 0, word, failed: [] });

describe('a promise', { tags: ['Promise-7'] }, () => {
  test.each([
    ['is open without the key of the log', [], good('OPEN')],
    ['is open without anything from the log', pinned, good('OPEN')],
    ['is kept with a result in the log', [...pinned, ...result, ...proof], good('KEPT')],
    [
      'is open with a result that is not proved, and an early head',
      [...pinned, ...result, '--head', head(early, JUST_BEFORE)],
      good('OPEN'),
    ],
    ['is open with a late head that no witness saw', [...pinned, '--head', head(later, null)], good('OPEN')],
    [
      'is broken with a late head and no proof',
      [...pinned, '--head', head(later, seconds(ANSWER_BY))],
      { exitCode: 6, word: 'BROKEN', failed: ['promise'] },
    ],
    [
      'is broken with a late head and a result that is not in the log',
      [...pinned, ...result, '--head', head(later, seconds(ANSWER_BY))],
      { exitCode: 6, word: 'BROKEN', failed: ['promise'] },
    ],
    [
      'is answered late if a witness saw the log without the answer after the promised time',
      [...pinned, ...result, ...proof, '--head', head(later, seconds(ANSWER_BY))],
      { exitCode: 6, word: 'LATE', failed: ['promise'] },
    ],
    [
      'is kept if the head that a witness saw at the promised time has the answer',
      [...pinned, ...result, ...proof, '--head', head(resultAt + 1, seconds(ANSWER_BY))],
      good('KEPT'),
    ],
    ['waits if the log states that the job waits', [...pinned, ...pending], good('PENDING')],
    [
      'is pending if the log stated in time that the job waits',
      [...pinned, ...pending, '--head', head(later, seconds(ANSWER_BY))],
      good('PENDING'),
    ],
    [
      'is answered late if the log stated too late that the job waits',
      [...pinned, ...pending, '--head', head(early, seconds(ANSWER_BY))],
      { exitCode: 6, word: 'LATE', failed: ['promise'] },
    ],
    [
      'is broken if the job waited and the next promised time has passed as well',
      [...pinned, ...pending, '--head', head(later, seconds(NEXT))],
      { exitCode: 6, word: 'BROKEN', failed: ['promise'] },
    ],
    [
      'is kept if the job waited and the result came before the next promised time',
      [...pinned, ...pending, ...result, ...proof, '--head', head(later, seconds(ANSWER_BY))],
      good('KEPT'),
    ],
  ])('%s', async (_what, words, verdict) => {
    expect(await verify(promise, ...words)).toEqual(verdict);
  });

  test('that is still open gives exit code 5 if the reader requires it to be kept', async () => {
    expect(await verify(promise, ...pinned, '--require', 'kept')).toMatchObject({ exitCode: 5, failed: ['kept'] });
    expect(await verify(promise, ...pinned, ...result, ...proof, '--require', 'kept')).toEqual(good('KEPT'));
  });

  test('is kept by a job that a restart ended, although its receipt states only the outcome', async () => {
    const none = { code_sha256: undefined, language: undefined, args_sha256: undefined };
    const lost = (receipt: object, status: JobOptions['status'] = 'error') => {
      const { attestation } = attestedJob({ key: job.key, tenant_number: 7, status, receipt });
      const at = log.appendSigned(attestation.envelope, job.key.publicKeyPem);
      return ['--envelope', file(attestation.envelope), '--log-proof', file(log.proof(at))];
    };
    expect(await verify(promise, ...pinned, ...lost(none))).toEqual(good('KEPT'));
    for (const words of [lost(none, 'failed'), lost({ ...none, code_sha256: '0'.repeat(64) })])
      expect(await verify(promise, ...pinned, ...words)).toMatchObject({ exitCode: 6, failed: ['submission'] });
  });

  test('is kept by a program whose input came from another program, and so could not be promised', async () => {
    const interaction = { peer: other.job_id, role: 'program' } as const;
    const of = (peer: string) =>
      promiseOf({ submission: { ...PROMISED.submission, interaction: { ...interaction, peer } } });
    const told = { stdin: { bytes_delivered: 1, raw_sha256: 'a'.repeat(64) }, end: 'first' } as const;
    const { attestation } = attestedJob({
      key: job.key,
      tenant_number: 7,
      receipt: { interaction: { ...interaction, ...told } },
    });
    const at = log.appendSigned(attestation.envelope, job.key.publicKeyPem);
    const words = [...pinned, '--envelope', file(attestation.envelope), '--log-proof', file(log.proof(at))];
    expect(await verify(of(other.job_id), ...words)).toEqual(good('KEPT'));
    expect(await verify(of(job.job_id), ...words)).toMatchObject({ exitCode: 6, failed: ['submission'] });
  });

  test('without a job number does not fit a result with a number', async () => {
    const { tenantJobNumber: _, ...unnumbered } = PROMISED;
    const bare = signStatement(promiseStatement(unnumbered), signerOf(job.key)).envelope;
    expect(await verify(bare, ...pinned, ...result, ...proof)).toMatchObject({ exitCode: 6, failed: ['result'] });
  });
});

describe('service-verify promise refuses', () => {
  const stranger = new TestLog();
  test.each([
    ['a promise signed with another key', promiseOf({}, signingKey()), [], { exitCode: 2, failed: ['signature'] }],
    ['a promise of another tenant', promiseOf({ tenant: 'other' }), [], { exitCode: 4, failed: ['tenant'] }],
    ['a promise of another job', promise, ['--job', other.job_id], { exitCode: 4, failed: ['job'] }],
    ['a promise without a time', promiseOf({ answerBy: 'soon' }), [], { exitCode: 4, failed: ['statement'] }],
    ['a promise that names no program', promiseOf({ submission: {} }), [], { exitCode: 4, failed: ['statement'] }],
    ['a result in place of a promise', job.attestation.envelope, [], { exitCode: 4, failed: ['statement'] }],
    ['a file that is not an envelope', new TextEncoder().encode('{}'), [], { exitCode: 2, failed: ['signature'] }],
    [
      'a promise that names another log',
      promiseOf({ logOrigin: 'else.example/log/1' }),
      pinned,
      { exitCode: 6, failed: ['same_log'] },
    ],
    [
      'a promise that names a log with the same name but another key',
      promiseOf({ logKey: stranger.key.text }),
      pinned,
      { exitCode: 6, failed: ['same_log'] },
    ],
    [
      'a result of another job',
      promise,
      [...pinned, '--envelope', file(other.attestation.envelope), '--log-proof', file(log.proof(otherAt))],
      { exitCode: 6, failed: ['result'] },
    ],
    [
      'a result of a program that was not promised',
      promiseOf({ submission: { code_sha256: '0'.repeat(64) } }),
      [...pinned, ...result, ...proof],
      { exitCode: 6, failed: ['submission'] },
    ],
    [
      'a result with a number that was not promised',
      promiseOf({ tenantJobNumber: 8 }),
      [...pinned, ...result, ...proof],
      { exitCode: 6, failed: ['result'] },
    ],
    [
      'a proof of another place',
      promise,
      [...pinned, ...result, '--log-proof', file(log.proof(otherAt))],
      { exitCode: 6, failed: ['log_inclusion'] },
    ],
    [
      'a waiting statement about another promise',
      promise,
      [...pinned, '--pending', pendingFile(waits({ promiseSha256: '0'.repeat(64) }), null)],
      { exitCode: 6, failed: ['pending'] },
    ],
    [
      'a head of another log',
      promise,
      [...pinned, '--head', file(stranger.checkpoint())],
      { exitCode: 6, failed: ['log_head'] },
    ],
  ])('%s', async (_what, bytes, words, verdict) => {
    expect(await verify(bytes, ...words)).toMatchObject(verdict);
  });

  test.each([
    ['a head without the key of the log', ['--head', logKey]],
    ['a malformed waiting statement', [...pinned, '--pending', logKey]],
    ['an unknown requirement', ['--require', 'broken']],
  ])('as wrong usage: %s', async (_what, words) => {
    expect(await verify(promise, ...words)).toMatchObject({ exitCode: 1 });
  });
});
