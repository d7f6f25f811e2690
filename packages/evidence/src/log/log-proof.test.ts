/** Log proofs: what a good proof shows, and how each kind of spoiled proof is refused. */
import { describe, expect, test } from 'vitest';
import { TestLog, testCosignature, testNoteKey, testSignature } from '../../../../test/rig/test-log.ts';
import { logNameOf } from './checkpoint.ts';
import { type LogProof, logProofText, parseConsistency, parseLogProof, verifyLogProof } from './log-proof.ts';
import { noteKey } from './note.ts';
import { leafHash } from './tree.ts';

const utf8 = (text: string) => new TextEncoder().encode(text);
const body = (at: number) => utf8(`statement ${at}`);

const log = new TestLog();
for (let at = 1; at < 12; at++) log.append(body(at));
const witness = testNoteKey('witness.example', 'cosignature');
const keys = { log: log.key.noteKey, witnesses: [witness.noteKey] };
const cosignature = testCosignature(witness, log.headText(), 1_800_000_000);

function read(text: string): LogProof {
  const result = parseLogProof(utf8(text));
  if (result.kind === 'refused') throw new Error(result.reason);
  return result.proof;
}

const proof = (index: number, cosignatures: readonly string[] = []) => read(log.proof(index, { cosignatures }));

test('a proof shows the position of a statement in the log, and which witnesses signed the head', async () => {
  for (let index = 1; index < log.size; index++) {
    expect(await verifyLogProof(proof(index), leafHash(body(index)), keys)).toMatchObject({
      kind: 'logged',
      index,
      witnessed: [],
    });
  }
  const witnessed = [{ name: 'witness.example', time: 1_800_000_000 }];
  expect(await verifyLogProof(proof(5, [cosignature]), leafHash(body(5)), keys)).toMatchObject({ witnessed });
  const stranger = testCosignature(testNoteKey('stranger.example', 'cosignature'), log.headText(), 1);
  expect(await verifyLogProof(proof(5, [stranger]), leafHash(body(5)), keys)).toMatchObject({ witnessed: [] });
});

test('a witness whose key is pinned twice counts once, and the log’s own key never counts as a witness', async () => {
  const renamed = noteKey('other.example', 'cosignature', witness.noteKey.key.raw);
  const own = noteKey('own.example', 'cosignature', log.key.noteKey.key.raw);
  if (renamed.kind === 'refused' || own.kind === 'refused') throw new Error('a key is refused');
  const others = [
    { noteKey: renamed.key, privateKey: witness.privateKey, text: '' },
    { noteKey: own.key, privateKey: log.key.privateKey, text: '' },
  ];
  const lines = [witness, ...others].map((each) => testCosignature(each, log.headText(), 1_800_000_000));
  const witnesses = [own.key, witness.noteKey, witness.noteKey, renamed.key];
  const witnessed = [{ name: 'witness.example', time: 1_800_000_000 }];
  const verdict = await verifyLogProof(proof(5, lines), leafHash(body(5)), { ...keys, witnesses });
  expect(verdict).toMatchObject({ kind: 'logged', witnessed });
});

test('a proof is accepted without a copy of the head in Rekor’s form', async () => {
  const bare = { ...proof(3), rekorHead: null };
  expect(await verifyLogProof(bare, leafHash(body(3)), keys)).toMatchObject({ kind: 'logged' });
});

describe('the check of a proof fails', () => {
  const other = new TestLog();
  for (let at = 1; at < 12; at++) other.append(body(at));
  const [first = new Uint8Array(32), ...rest] = proof(3).hashes;
  const wrongly = testCosignature(witness, log.headText(4), 1_800_000_000);
  test.each<[string, string, LogProof, number]>([
    ['at log_inclusion for another statement', 'log_inclusion', proof(3), 4],
    ['at log_inclusion for another position', 'log_inclusion', { ...proof(3), index: 2 }, 3],
    [
      'at log_inclusion with a changed hash',
      'log_inclusion',
      { ...proof(3), hashes: [first.with(0, 1), ...rest] as never },
      3,
    ],
    ['at log_inclusion without a hash', 'log_inclusion', { ...proof(3), hashes: rest }, 3],
    ['at log_head if another key signed the head', 'log_head', read(other.proof(3)), 3],
    [
      'at log_head if the head in Rekor’s form has another size',
      'log_head',
      { ...proof(3), rekorHead: log.rekorHead(4) },
      3,
    ],
    [
      'at log_head if another key signed the head in Rekor’s form',
      'log_head',
      { ...proof(3), rekorHead: other.rekorHead() },
      3,
    ],
    ['at witness with a cosignature of another head', 'witness', proof(3, [wrongly]), 3],
  ])('%s', async (_what, check, spoilt, at) => {
    expect(await verifyLogProof(spoilt, leafHash(body(at)), keys)).toMatchObject({ kind: 'failed', check });
  });

  test('at log_head if its head is from another tree of the same host', async () => {
    const second = new TestLog({ host: 'log.example', tree: 2 });
    expect(await verifyLogProof(read(second.proof(0)), leafHash(utf8('the opening statement')), keys)).toMatchObject({
      check: 'log_head',
      reason: 'it is of the log log.example/log/2, and the pinned key is of log.example/log/1',
    });
  });
});

describe('a file is not a proof if it', () => {
  const text = log.proof(3);
  test.each([
    ['has another first line', text.replace('@v1', '@v2')],
    ['has no index', text.replace(/index 3\n/, '')],
    ['has an index with a leading zero', text.replace('index 3', 'index 03')],
    ['has a hash that is too short', text.replace(/index 3\n..../, 'index 3\n')],
    ['has too many hashes', text.replace('\n\n', `\n${`${'A'.repeat(43)}=\n`.repeat(65)}\n`)],
    ['has an extra line that is no text', text.replace(/extra .*/, 'extra ////')],
    ['has no checkpoint', text.slice(0, text.indexOf('\n\n'))],
    [
      'has a checkpoint with a line that nobody audits',
      `index 0\n\n${log.headText()}more\n\n${testSignature(log.key, log.headText())}`,
    ],
    ['has a size that is no whole number', text.replace('\n12\n', '\n12.0\n')],
    ['is too large', text + 'x'.repeat(300_000)],
  ])('%s', (_what, spoilt) => {
    expect(parseLogProof(utf8(spoilt))).toMatchObject({ kind: 'refused' });
  });

  test('is not UTF-8', () => {
    expect(parseLogProof(Uint8Array.of(0xff, 0x0a, 0x0a))).toMatchObject({ kind: 'refused' });
  });
});

test('a proof that is written and read again is unchanged', () => {
  const text = log.proof(7, { cosignatures: [cosignature] });
  const { index, hashes, rekorHead } = read(text);
  expect(
    logProofText({ index, hashes, checkpoint: log.checkpoint(log.size, cosignature), rekorHead: rekorHead ?? '' }),
  ).toBe(text);
  const consistency = parseConsistency(utf8(log.consistency(5)));
  expect(consistency).toMatchObject({ consistency: { old: 5, hashes: log.consistencyHashes(5) } });
});

test.each([
  ['log.example/log/1', { host: 'log.example', tree: 1 }],
  ['log.example:8080/log/12', { host: 'log.example:8080', tree: 12 }],
  ['log.example/log/0', null],
  ['log.example/log/01', null],
  ['log example/log/1', null],
  ['log.example', null],
])('the origin %s is read as %o', (origin, name) => {
  expect(logNameOf(origin)).toEqual(name);
});
