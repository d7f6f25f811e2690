/** Go's own packages for checking modules, golang.org/x/mod/sumdb, check heads and proofs from the log. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  decodeEnvelope,
  encodeBase64,
  logEntryBody,
  noteText,
  parseConsistency,
  parseLogProof,
  parsePublicKey,
} from '@vouchbox/evidence';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Rig, useRig } from '../rig/rig.ts';
import { TestLog, testCosignature, testNoteKey, testSignature } from '../rig/test-log.ts';
import { keyOfLog, proofOf, servedLog } from './served-log.ts';

const GO_SOURCES = '/usr/share/gocode';
const isInstalled = existsSync('/usr/bin/go') && existsSync(join(GO_SOURCES, 'src/golang.org/x/mod/sumdb'));
const untried = isInstalled ? '' : ' (not tried: Go with golang.org/x/mod is not installed)';

const SIZE = 70;
const body = (at: number) => new TextEncoder().encode(`statement ${at}`);
const log = new TestLog();
while (log.size < SIZE) log.append(body(log.size));
const fork = log.fork();
log.append(body(SIZE));
fork.append(body(SIZE + 1));

interface Case {
  readonly Key: string;
  readonly Head: string;
  readonly Old: string;
  readonly Body: string;
  readonly Index: number;
  readonly Inclusion: readonly string[];
  readonly Consistency: readonly string[];
}

/** What Go needs to check that a statement is in the log, and that the log begins with the tree of `old` leaves. */
function caseOf(index: number, old: number, size: number): Case {
  return {
    Key: log.key.text,
    Head: log.checkpoint(size),
    Old: log.checkpoint(old),
    Body: encodeBase64(body(index)),
    Index: index,
    Inclusion: log.inclusion(index, size).map(encodeBase64),
    Consistency: log.consistencyHashes(old, size).map(encodeBase64),
  };
}

describe.skipIf(!isInstalled)(`the Go packages sumdb/note and tlog${untried}`, () => {
  let directory = '';
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'vouchbox-go-'));
    const env = { ...process.env, GO111MODULE: 'off', GOPATH: GO_SOURCES, GOCACHE: join(directory, 'cache') };
    const source = join(import.meta.dirname, 'notes.go');
    execFileSync('go', ['build', '-o', join(directory, 'notes'), source], { env, stdio: 'pipe' });
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  function verdictsOf(cases: readonly Case[]): readonly string[] {
    const input = cases.map((each) => `${JSON.stringify(each)}\n`).join('');
    return execFileSync(join(directory, 'notes'), { input, encoding: 'utf8' }).trimEnd().split('\n');
  }

  test('accept inclusion proofs in trees of every size, and consistency proofs from smaller trees', () => {
    const cases: Case[] = [];
    for (let size = 2; size <= SIZE; size++)
      for (let index = 1; index < size; index += 3) cases.push(caseOf(index, ((index * 7) % size) + 1, size));
    expect(new Set(verdictsOf(cases))).toEqual(new Set(['good']));
  });

  test('accept a head that a witness has cosigned', () => {
    const witness = testNoteKey('witness.example', 'cosignature');
    const Head = log.checkpoint(SIZE, testCosignature(witness, log.headText(SIZE), 1_800_000_000));
    expect(verdictsOf([{ ...caseOf(5, 9, SIZE), Head }])).toEqual(['good']);
  });

  test('refuse changed proofs and heads', () => {
    const good = caseOf(5, 9, SIZE);
    const stranger = testNoteKey('log.example/log/1', 'note');
    const text = log.headText(SIZE);
    const verdicts = verdictsOf([
      { ...good, Index: 6 },
      { ...good, Body: encodeBase64(body(6)) },
      { ...good, Inclusion: good.Inclusion.slice(1) },
      { ...good, Inclusion: good.Inclusion.with(0, log.inclusion(8, SIZE).map(encodeBase64)[0] as string) },
      { ...good, Consistency: good.Consistency.slice(1) },
      { ...good, Old: fork.checkpoint(SIZE + 1), Head: log.checkpoint(SIZE + 1), Consistency: [] },
      { ...good, Head: log.checkpoint(SIZE - 1) },
      { ...good, Head: `${text}\n${testSignature(stranger, text)}` },
      { ...good, Head: log.rekorHead(SIZE) },
      { ...good, Key: stranger.text },
    ]);
    expect(verdicts.filter((verdict) => !verdict.startsWith('refused'))).toEqual([]);
  });

  describe('with a running service’s log', () => {
    const rig = useRig({ provider: 'subprocess', 'attestation-mode': 'on', 'log-host': 'log.example' });

    test('accept each result’s proof, and the log’s growth from every earlier head', async () => {
      const heads: { readonly size: number; readonly text: string }[] = [];
      const cases: Case[] = [];
      for (let at = 0; at < 6; at++) {
        const { job_id } = await rig().alpha.client.run({ language: 'bash', code: `echo ${at}` });
        const served = await servedCase(rig(), job_id);
        heads.push({ size: sizeOf(served.Head), text: served.Head });
        for (const { size, text } of heads)
          cases.push({ ...served, Old: text, Consistency: await servedConsistency(rig(), size) });
      }
      expect(heads.map(({ size }) => size)).toEqual([2, 3, 4, 5, 6, 7]);
      expect(new Set(verdictsOf(cases))).toEqual(new Set(['good']));
      const last = cases.at(-2) as Case;
      const spoilt = verdictsOf([
        { ...last, Index: last.Index - 1 },
        { ...last, Body: cases[0]?.Body as string },
        { ...last, Consistency: last.Consistency.slice(1) },
        { ...last, Key: testNoteKey('log.example/log/1', 'note').text },
      ]);
      expect(spoilt.filter((verdict) => !verdict.startsWith('refused'))).toEqual([]);
    });
  });
});

/** The log entry for a job's signed result, and the entry's place in the log as the service states it. */
async function servedCase(rig: Rig, job_id: string): Promise<Omit<Case, 'Old' | 'Consistency'>> {
  const parsed = parseLogProof(new TextEncoder().encode(await proofOf(rig, job_id)));
  const { bytes } = await rig.alpha.client.attestation(job_id);
  const [decoded, key] = [decodeEnvelope(bytes), parsePublicKey((await rig.alpha.client.publicKey()).public_key_pem)];
  if (parsed.kind === 'refused' || decoded.kind === 'refused' || key.kind === 'refused') throw new Error('no proof');
  const { envelope } = decoded;
  const [signature] = envelope.signatures;
  if (signature === undefined) throw new Error('it is not signed');
  const { index, hashes, checkpoint } = parsed.proof;
  return {
    Key: await keyOfLog(rig),
    Head: noteText(checkpoint.note),
    Body: encodeBase64(logEntryBody({ bytes, envelope, signature, key: key.key })),
    Index: index,
    Inclusion: hashes.map(encodeBase64),
  };
}

async function servedConsistency(rig: Rig, old: number): Promise<readonly string[]> {
  const parsed = parseConsistency(new TextEncoder().encode(await servedLog(rig, `consistency?old=${old}`)));
  if (parsed.kind === 'refused') throw new Error(parsed.reason);
  return parsed.consistency.hashes.map(encodeBase64);
}

function sizeOf(head: string): number {
  return Number(head.split('\n')[1]);
}
