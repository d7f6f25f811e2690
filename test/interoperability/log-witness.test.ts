/**
 * The log with a third-party witness: `sigsum-witness` of Debian's `sigsum-go`. This witness accepts only origins in Sigsum's
 * form, so the log here is made in memory. The service's own witness client asks the witness.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Checkpoint, type NoteKey, noteKey, parseCheckpoint, sha256Hex } from '@vouchbox/evidence';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type OwnLog, Witnesses } from '../../packages/server/src/job/log/witnesses.ts';
import { freePorts } from '../rig/object-server.ts';
import { TestLog, testNoteKey, testSignature } from '../rig/test-log.ts';

const named = process.env['SIGSUM_WITNESS'];
const paths = (process.env['PATH'] ?? '').split(delimiter).map((directory) => join(directory, 'sigsum-witness'));
const program = [...(named === undefined ? [] : [named]), ...paths].find((path) => existsSync(path));
const untried =
  program === undefined
    ? ' (not tried: sigsum-witness, of sigsum-go in bookworm-backports, is neither on PATH nor named by SIGSUM_WITNESS)'
    : '';

const rawOf = ({ key }: NoteKey) => key.raw;
const sizedBytes = (bytes: Uint8Array) => {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(bytes.length);
  return Buffer.concat([size, bytes]);
};
/** A public key in OpenSSH's form. */
const sshKeyOf = (raw: Uint8Array) =>
  `ssh-ed25519 ${Buffer.concat([sizedBytes(Buffer.from('ssh-ed25519')), sizedBytes(raw)]).toString('base64')} log\n`;
function keyAt(place: string, type: NoteKey['type'], raw: Uint8Array<ArrayBuffer>): NoteKey {
  const made = noteKey(`sigsum.org/v1/${place}/${sha256Hex(raw)}`, type, raw);
  if (made.kind === 'refused') throw new Error(made.reason);
  return made.key;
}

const pair = testNoteKey('log.example/log/1', 'note');
const logKey = keyAt('tree', 'note', rawOf(pair.noteKey));
let log: TestLog;
const grow = (leaves: number) => {
  for (let at = 0; at < leaves; at++) log.append(Buffer.from(`statement ${log.size}`));
};

/** The head of a log under the log's name in Sigsum, signed by this key. */
function headOf(of: TestLog, size = of.size, by = { ...pair, noteKey: logKey }): Checkpoint {
  const text = of.headText(size).replace(/^.*/, logKey.name);
  const parsed = parseCheckpoint(`${text}\n${testSignature(by, text)}`);
  if (parsed.kind === 'refused') throw new Error(parsed.reason);
  return parsed.checkpoint;
}
const own = (of: TestLog): OwnLog => ({
  key: logKey,
  proof: async (old, size) => of.consistencyHashes(old, size),
  has: async () => true,
});

describe.skipIf(program === undefined)(`a third-party witness${untried}`, () => {
  let directory: string;
  let child: ChildProcess;
  let url: string;
  let witnessKey: NoteKey;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'vouchbox-sigsum-'));
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, 'witness')]);
    const [, base64 = ''] = readFileSync(join(directory, 'witness.pub'), 'utf8').split(' ');
    witnessKey = keyAt('witness', 'cosignature', new Uint8Array(Buffer.from(base64, 'base64').subarray(-32)));
    writeFileSync(join(directory, 'log.pub'), sshKeyOf(rawOf(logKey)));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  beforeEach(async () => {
    log = new TestLog({ host: 'log.example', tree: 1 }, pair);
    const state = join(directory, 'state');
    rmSync(state, { force: true });
    await start(state);
    return stop;
  });

  async function start(state = join(directory, 'state')): Promise<void> {
    const [port = 0] = await freePorts(1);
    url = `http://127.0.0.1:${port}`;
    const files = ['-k', join(directory, 'witness'), '--log-key', join(directory, 'log.pub'), '--state-file', state];
    // Debian's build behaves like an older Go, in which patterns for paths have no methods. The program needs methods.
    const env = { ...process.env, GODEBUG: 'httpmuxgo121=0' };
    child = spawn(program as string, [...files, `127.0.0.1:${port}`], { env, stdio: 'ignore' });
    await vi.waitFor(() => fetch(url), { timeout: 20_000, interval: 50 });
  }
  async function stop(): Promise<void> {
    const ended = once(child, 'exit');
    child.kill();
    await ended;
  }

  const asked = () => new Witnesses({ addresses: [{ key: witnessKey, url }], milliseconds: 10_000 });
  async function saidOf(head: Checkpoint, of = log): Promise<readonly [string, number]> {
    const witnesses = asked();
    const { lines } = await witnesses.ask(head, own(of));
    return [`${witnesses.standings[0]?.state}: ${witnesses.standings[0]?.reason}`, lines.length];
  }

  test('cosigns each head of a growing log, also after a restart', { tags: ['Log-7'] }, async () => {
    const witnesses = asked();
    for (const leaves of [0, 1, 5, 70, 0]) {
      grow(leaves);
      const { lines, missed } = await witnesses.ask(headOf(log), own(log));
      expect([lines.map(({ name }) => name), missed]).toEqual([[witnessKey.name], null]);
    }
    await stop();
    await start();
    grow(3);
    expect(await saidOf(headOf(log))).toEqual(['signs: null', 1]);
  });

  test('refuses a head that was rolled back, rewritten or signed by a stranger, and still cosigns good heads', async () => {
    grow(10);
    expect(await saidOf(headOf(log))).toEqual(['signs: null', 1]);
    const fork = new TestLog({ host: 'log.example', tree: 1 }, pair);
    while (fork.size < 14) fork.append(Buffer.from('another'));
    const stranger = { ...testNoteKey('log.example/log/1', 'note'), noteKey: logKey };
    expect(await saidOf(headOf(log, 7))).toEqual(['disagrees: it answered 409', 0]);
    expect(await saidOf(headOf(fork, 11), fork)).toEqual(['disagrees: it answered 422', 0]);
    expect(await saidOf(headOf(fork, 14), fork)).toEqual(['disagrees: it answered 422', 0]);
    expect(await saidOf(headOf(log, 11, stranger))).toEqual(['disagrees: it answered 403', 0]);
    grow(1);
    expect(await saidOf(headOf(log))).toEqual(['signs: null', 1]);
  });
});
