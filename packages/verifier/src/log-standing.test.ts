/** What `service-verify` says about the log beside every result that it checks. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXPORT_MANIFEST, EXPORT_OPTIONAL_FILES, exportManifest } from '@vouchbox/evidence';
import { afterAll, describe, expect, test } from 'vitest';
import { TestLog, testCosignature, testNoteKey } from '../../../test/rig/test-log.ts';
import { attestedJob, line, Scratch } from '../test/attested-job.ts';
import { serviceVerify } from './service-verify.ts';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());
let written = 0;
const file = (content: string | Uint8Array) => scratch.write(`file-${++written}`, content);

const job = attestedJob({ bodies: [line('stdout', 'one')] });
const log = new TestLog();
for (let at = 1; at < 20; at++) log.append(new TextEncoder().encode(`statement ${at}`));
const index = log.appendSigned(job.attestation.envelope, job.key.publicKeyPem);
const grown = log.fork();
const forked = log.fork();
for (let at = 21; at < 40; at++) {
  grown.append(new TextEncoder().encode(`statement ${at}`));
  forked.append(new TextEncoder().encode(`another statement ${at}`));
}
const witness = testNoteKey('witness.example', 'cosignature');
const TIME = 1_800_000_000;
const cosignature = testCosignature(witness, log.headText(), TIME);

const logKey = file(`${log.key.text}\n`);
const witnessKey = file(witness.text);
const publicKey = file(job.key.publicKeyPem);

/** An export, with a proof if one is given. */
function directory(proof: string | null): string {
  const files = new Map(job.files);
  if (proof !== null) files.set(EXPORT_OPTIONAL_FILES.logProof, new TextEncoder().encode(proof));
  return scratch.writeAll(`export-${++written}`, new Map([...files, [EXPORT_MANIFEST, exportManifest(job, files)]]));
}

async function verify(proof: string | null, ...words: readonly string[]) {
  const fixed = ['directory', directory(proof), '--public-key', publicKey, '--tenant', job.tenant, '--json'];
  const { exitCode, stdout, stderr } = await serviceVerify([...fixed, ...words]);
  if (stdout === '') return { exitCode, stderr };
  const said = JSON.parse(stdout) as {
    checks: { check: string; good: boolean; detail: string }[];
    facts: { log?: string };
  };
  const failed = said.checks.flatMap(({ check, good, detail }) => (good ? [] : [`${check}: ${detail}`]));
  return { exitCode, log: said.facts.log, failed };
}

const pinned = ['--log-key', logKey, '--witness', witnessKey];

describe("the log's verdict on an export", () => {
  test.each([
    ['without a proof', null, pinned, 'NOT LOGGED: no proof of it is here'],
    [
      'with a proof, and no key of the log',
      log.proof(index),
      [],
      'NOT LOGGED: its proof was not checked, because no log key is pinned',
    ],
    ['with a proof', log.proof(index), pinned, 'UNWITNESSED: its operator could show others another log'],
    [
      'with a proof that a witness cosigned',
      log.proof(index, { cosignatures: [cosignature] }),
      pinned,
      'WITNESSED by witness.example at 2027-01-15T08:00:00Z',
    ],
    [
      'with a proof cosigned by a witness whose key is not pinned',
      log.proof(index, { cosignatures: [cosignature] }),
      ['--log-key', logKey],
      'UNWITNESSED: its operator could show others another log',
    ],
  ])('is always reported %s', async (_what, proof, words, word) => {
    expect(await verify(proof, ...words)).toEqual({ exitCode: 0, log: word, failed: [] });
  });

  test('is also reported for an envelope without an export', async () => {
    const [envelope, subject] = [file(job.attestation.envelope), file(job.attestation.result)];
    const fixed = ['--envelope', envelope, '--subject', subject, '--public-key', publicKey, '--tenant', job.tenant];
    const proof = file(log.proof(index, { cosignatures: [cosignature] }));
    const name = ['--subject-name', `svc://jobs/${job.job_id}/result`];
    const verified = await serviceVerify(['verify', ...fixed, ...name, ...pinned, '--log-proof', proof]);
    expect(verified.exitCode).toBe(0);
    expect(verified.stdout).toMatch(/log +WITNESSED by witness\.example at 2027/);
    const demanded = ['policy', ...fixed, ...pinned, '--require', 'witnesses>=1'];
    expect(await serviceVerify([...demanded, '--log-proof', proof])).toMatchObject({ exitCode: 0 });
    expect(await serviceVerify(demanded)).toMatchObject({ exitCode: 5 });
    const spoilt = file(log.proof(index - 1));
    const refused = await serviceVerify(['verify', ...fixed, ...name, ...pinned, '--log-proof', spoilt]);
    expect(refused).toMatchObject({ exitCode: 6 });
    expect(refused.stderr).toContain('refused at log_inclusion');
  });
});

describe('a changed log proof is refused with exit code 6:', () => {
  const stranger = new TestLog();
  for (let at = 1; at < 20; at++) stranger.append(new TextEncoder().encode(`statement ${at}`));
  const theirs = stranger.appendSigned(job.attestation.envelope, job.key.publicKeyPem);
  const wrong = testCosignature(witness, log.headText(5), TIME);
  test.each([
    ['for another statement', log.proof(index - 1), 'log_inclusion: the statement is not where the proof says'],
    ['signed by a stranger', stranger.proof(theirs), 'log_head: the key of log.example/log/1 did not sign it'],
    [
      'with a cosignature of another head',
      log.proof(index, { cosignatures: [wrong] }),
      'witness: witness.example did not sign',
    ],
    ['without a checkpoint', 'index 3', 'log_entry: the proof is refused: it has no checkpoint'],
  ])('%s', async (_what, proof, problem) => {
    const { exitCode, failed } = await verify(proof, ...pinned);
    expect({ exitCode, failed }).toEqual({ exitCode: 6, failed: [expect.stringContaining(problem)] });
  });
});

describe('a requirement on the log', () => {
  const plain = log.proof(index);
  const witnessed = log.proof(index, { cosignatures: [cosignature] });
  test.each([
    ['logged', plain, 0],
    ['logged', null, 5],
    ['witnesses>=1', witnessed, 0],
    ['witnesses>=1', plain, 5],
    ['witnesses>=2', witnessed, 5],
  ])('is judged by what the proof shows: %s', async (requirement, proof, exitCode) => {
    expect(await verify(proof, ...pinned, '--require', requirement)).toMatchObject({ exitCode });
  });

  test('is not met by a proof that was left unchecked because no log key is pinned', async () => {
    expect(await verify(witnessed, '--require', 'logged')).toMatchObject({ exitCode: 5 });
  });
});

describe('a remembered head', () => {
  const stateOf = (head: string) => file(head);

  test('is written the first time, and stays when the log shows the same head', async () => {
    const state = join(scratch.path, 'first');
    expect(await verify(log.proof(index), ...pinned, '--log-state', state)).toMatchObject({ exitCode: 0 });
    expect(readFileSync(state, 'utf8')).toBe(log.checkpoint());
    expect(await verify(log.proof(index), ...pinned, '--log-state', state)).toMatchObject({ exitCode: 0 });
    expect(readFileSync(state, 'utf8')).toBe(log.checkpoint());
  });

  test('is replaced as the log grows if a proof shows that the log only grew', async () => {
    const state = stateOf(log.checkpoint());
    const proof = file(grown.consistency(log.size));
    const words = [...pinned, '--log-state', state];
    const alone = await verify(grown.proof(index), ...words);
    expect(alone).toMatchObject({ exitCode: 6, failed: [expect.stringContaining('fetch a proof of consistency')] });
    expect(await verify(grown.proof(index), ...words, '--log-consistency', proof)).toMatchObject({ exitCode: 0 });
    expect(readFileSync(state, 'utf8')).toBe(grown.checkpoint());
  });

  test('is not replaced by an older head of the same log', async () => {
    const state = stateOf(grown.checkpoint());
    const proof = file(grown.consistency(log.size));
    const { exitCode } = await verify(log.proof(index), ...pinned, '--log-state', state, '--log-consistency', proof);
    expect(exitCode).toBe(0);
    expect(readFileSync(state, 'utf8')).toBe(grown.checkpoint());
  });

  test.each([
    ['two heads of one size', forked.checkpoint(), [], 'two heads of 40 statements'],
    ['a head whose tree begins differently', forked.checkpoint(39), [grown.consistency(39)], 'it was changed'],
    ['a head of another log', new TestLog({ host: 'else.example', tree: 1 }).checkpoint(), [], 'it is of the log else'],
    ['no head at all', 'nothing', [], 'the remembered head is refused'],
    ['a proof by a stranger', log.checkpoint(), [new TestLog().consistency(1)], 'a proof of consistency is refused'],
  ])('is contradicted by %s', async (_what, head, proofs, problem) => {
    const state = stateOf(head);
    const words = proofs.flatMap((proof) => ['--log-consistency', file(proof)]);
    const verdict = await verify(grown.proof(index), ...pinned, '--log-state', state, ...words);
    expect(verdict).toMatchObject({ exitCode: 6, failed: [expect.stringContaining(problem)] });
    expect(readFileSync(state, 'utf8')).toBe(head);
  });

  test('is not written if the statement is not in the log', async () => {
    const state = join(scratch.path, 'never');
    const notIn = log.proof(index - 1);
    expect(await verify(notIn, ...pinned, '--log-state', state)).toMatchObject({ exitCode: 6 });
    expect(existsSync(state)).toBe(false);
  });
});

describe('the delay between the end of a job and its place in the log', () => {
  const end = Date.parse(job.receipt.finished_at) / 1000;
  /** A head that the witness saw this many seconds after the end of the job. */
  const seen = (seconds: number, size = index) =>
    log.checkpoint(size, testCosignature(witness, log.headText(size), end + seconds));
  const late = expect.stringContaining('log_time: BACKDATED OR LATE: it says that its job ended at') as string;
  const after = (head: string, ...words: readonly string[]) =>
    verify(log.proof(index), ...pinned, '--after-head', file(head), ...words);

  test('may be up to ten minutes', async () => {
    expect(await after(seen(600))).toMatchObject({ exitCode: 0, failed: [] });
    expect(await after(seen(601))).toMatchObject({ exitCode: 6, failed: [late] });
  });

  test('may be as long as the reader allows with --log-delay', async () => {
    expect(await after(seen(3600), '--log-delay', '1h')).toMatchObject({ exitCode: 0 });
    expect(await after(seen(3), '--log-delay', '2s')).toMatchObject({ exitCode: 6, failed: [late] });
  });

  test('is measured with the latest head that lacks the result', async () => {
    const words = ['--after-head', file(seen(-5, 3))];
    expect(await after(seen(601), ...words)).toMatchObject({ exitCode: 6, failed: [late] });
  });

  test('does not depend on heads that have the result', async () => {
    expect(await after(seen(9999, index + 1))).toMatchObject({ exitCode: 0 });
  });

  test('is measured with the remembered head if no other is given', async () => {
    const [state, proof] = [file(seen(601)), file(log.consistency(index))];
    const words = [...pinned, '--log-state', state, '--log-consistency', proof];
    expect(await verify(log.proof(index), ...words)).toMatchObject({ exitCode: 6, failed: [late] });
    const unwitnessed = file(log.checkpoint(index));
    const without = [...pinned, '--log-state', unwitnessed, '--log-consistency', proof];
    expect(await verify(log.proof(index), ...without)).toMatchObject({ exitCode: 0 });
  });

  test.each([
    ['no pinned witness saw', log.checkpoint(index), 'log_time: no pinned witness says when it saw the head of 20'],
    ['its witness did not sign', log.checkpoint(index, cosignature), 'log_time: witness.example did not sign'],
    ['a stranger signed', new TestLog().checkpoint(), 'log_consistency: a head that was seen before is refused'],
  ])('cannot be measured with a head that %s', async (_what, head, problem) => {
    expect(await after(head)).toMatchObject({ exitCode: 6, failed: [expect.stringContaining(problem)] });
  });

  test('cannot be measured without a pinned witness', async () => {
    const words = ['--log-key', logKey, '--after-head', file(seen(1))];
    const refused = await verify(log.proof(index), ...words);
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('needs --witness') as string });
  });
});

test.each([
  ['the key of a witness in place of the log’s', ['--log-key', witnessKey], 'has the key of a witness'],
  ['the key of the log in place of a witness’s', ['--log-key', logKey, '--witness', logKey], 'has the key of a log'],
  ['a witness without a log', ['--witness', witnessKey], 'need --log-key'],
  ['a file without a key', ['--log-key', publicKey], 'has no key'],
  ['a file that is not there', ['--log-key', '/nowhere'], 'cannot be read'],
])('%s is wrong usage', async (_what, words, problem) => {
  const verdict = await verify(log.proof(index), ...words);
  expect(verdict).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(problem) });
});

describe('a log that its operator opened again', () => {
  const next = log.reopened();
  const place = next.appendSigned(job.attestation.envelope, job.key.publicKeyPem);
  const nextKey = file(next.key.text);
  const seen = () => file(log.checkpoint());

  test('is reported, and is not accepted in place of the pinned log', async () => {
    const refused = await verify(next.proof(place), '--log-key', logKey);
    expect(refused).toMatchObject({
      exitCode: 6,
      failed: [expect.stringMatching(/^log_head: REOPENED: .*log\/2.*--accept-reopened/)],
    });
    expect(await verify(next.proof(place), '--log-key', logKey, '--accept-reopened')).toMatchObject({
      exitCode: 0,
      failed: [],
    });
  });

  test('is refused to a reader who remembers a head of the old log, until the reader accepts the new log', async () => {
    const state = seen();
    const before = readFileSync(state, 'utf8');
    const lost = `REOPENED: ${log.size} leaves up to the head of log.example/log/1 are no longer provable`;
    const words = ['--log-key', nextKey, '--log-state', state];
    expect(await verify(next.proof(place), ...words)).toMatchObject({
      exitCode: 6,
      failed: [expect.stringContaining(lost)],
    });
    expect(readFileSync(state, 'utf8')).toBe(before);
    const accepted = await verify(next.proof(place), ...words, '--accept-reopened');
    expect(accepted).toMatchObject({ exitCode: 0, failed: [], log: expect.stringContaining(lost) });
    expect(readFileSync(state, 'utf8')).toContain('log.example/log/2\n');
    expect(await verify(next.proof(place), ...words)).toMatchObject({ exitCode: 0, failed: [] });
  });

  test.each([
    ['an earlier tree than the pinned one', log.proof(index), nextKey],
    ['another host', new TestLog({ host: 'else.example', tree: 2 }).proof(0), logKey],
    ['another key under the next name', new TestLog({ host: 'log.example', tree: 2 }).proof(0), logKey],
  ])('with %s is refused, even with --accept-reopened', async (_what, proof, key) => {
    const found = await verify(proof, '--log-key', key, '--accept-reopened');
    expect(found).toMatchObject({ exitCode: 6, failed: [expect.stringMatching(/^log_head: /)] });
  });
});
