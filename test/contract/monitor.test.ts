/** `vouchbox monitor` over real HTTP: its reports about a log that only grows, and about every kind of log that does not. */
import { generateKeyPairSync, sign } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PromisePredicate, promiseStatement, signStatement } from '@vouchbox/evidence';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { Command, vouchbox } from '../rig/command.ts';
import { TestLog, testCosignature, testNoteKey } from '../rig/test-log.ts';

const scratch = mkdtempSync(join(tmpdir(), 'svc-monitor-'));
const servers: Server[] = [];
afterAll(async () => {
  for (const server of servers) server.closeAllConnections();
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  rmSync(scratch, { recursive: true });
});

const log = grownBy(new TestLog(), 9, 'statement');
const witness = testNoteKey('witness.example', 'cosignature');
let written = 0;
let state: string;
beforeEach(() => {
  state = join(scratch, `state-${++written}`);
});

function file(content: string): string {
  const path = join(scratch, `file-${++written}`);
  writeFileSync(path, content);
  return path;
}

function grownBy(from: TestLog, count: number, word: string): TestLog {
  for (let at = 0; at < count; at++) from.append(new TextEncoder().encode(`${word} ${at}`));
  return from;
}

/** The time at which the witness signs the shown head, in seconds. */
const SEEN = 1_800_000_000;

/** Writes a promise that the log will answer by this time, given in seconds. Returns the path of the file. */
function promiseBy(seconds: number, logOrigin = 'log.example/log/1'): string {
  const { privateKey } = generateKeyPairSync('ed25519');
  const predicate: PromisePredicate = {
    tenant: 'acme',
    jobId: 'job_0197c0de-0000-7000-8000-000000000001',
    tenantJobNumber: 1,
    logOrigin,
    acceptedAt: '2026-01-01T00:00:00.000Z',
    answerBy: new Date(seconds * 1000).toISOString(),
    logKey: log.key.text,
    submission: { language: 'bash', code_sha256: '0'.repeat(64) },
  };
  const signer = { key_id: 'key', sign: (message: Uint8Array) => new Uint8Array(sign(null, message, privateKey)) };
  return file(Buffer.from(signStatement(promiseStatement(predicate), signer).envelope).toString());
}

/** The address of a service that shows this log but gives the answers in `says`. `grows` is called before each proof. */
async function showing(
  shown: TestLog,
  says: Readonly<Record<string, string>> = {},
  grows = (_proofs: number): void => undefined,
): Promise<string> {
  let proofs = 0;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://log');
    const own = says[pathname];
    if (own !== undefined) response.end(own);
    else if (pathname === '/log/checkpoint')
      response.end(shown.checkpoint(shown.size, testCosignature(witness, shown.headText(), SEEN)));
    else if (pathname === '/log/consistency') {
      grows(++proofs);
      response.end(shown.consistency(Number(searchParams.get('old'))));
    } else response.writeHead(404).end();
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const pinned = () => ['--log-key', file(log.key.text), '--witness', file(witness.text), '--state', state];
const looked = (url: string, ...more: string[]) => vouchbox(['monitor', url, ...pinned(), '--once', ...more]);

test('the monitor stores the newest head of a log that grew, and the head’s witnesses', async () => {
  const first = await looked(await showing(log));
  expect([first.code, first.stdout]).toEqual([
    0,
    expect.stringMatching(/^WITNESSED by witness\.example .*: 10 statements, seen for the first time\n$/),
  ]);
  const grown = await looked(await showing(grownBy(log.fork(), 5, 'more')));
  expect([grown.code, grown.stdout]).toEqual([0, expect.stringContaining('15 statements, 5 more')]);
  expect(readFileSync(state, 'utf8')).toContain('log.example/log/1\n15\n');
  const same = await looked(await showing(grownBy(log.fork(), 5, 'more')), '--json');
  expect(JSON.parse(same.stdout)).toMatchObject({ word: 'WITNESSED by witness.example', size: 15 });
});

test('the monitor asks again if the log grows between its head and its proof', async () => {
  await looked(await showing(log));
  const growing = grownBy(log.fork(), 5, 'more');
  const grown = await looked(
    await showing(growing, {}, (proofs) => {
      if (proofs === 1) grownBy(growing, 1, 'between');
    }),
  );
  expect([grown.code, grown.stdout]).toEqual([0, expect.stringContaining('16 statements, 6 more')]);
  const always = await showing(grownBy(growing, 1, 'later'), {}, () => void grownBy(growing, 1, 'again'));
  const never = await looked(always);
  expect([never.code, never.stdout]).toEqual([4, expect.stringContaining('NO ANSWER')]);
});

test.each([
  ['ROLLED BACK', grownBy(new TestLog(undefined, log.key), 3, 'statement'), {}],
  ['FORKED', grownBy(new TestLog(undefined, log.key), 9, 'another'), {}],
  ['CHANGED', grownBy(new TestLog(undefined, log.key), 20, 'another'), {}],
  ['REOPENED', log.reopened(), {}],
  ['NOT SIGNED', new TestLog(), {}],
  ['NOT SIGNED', log, { '/log/checkpoint': 'garbage' }],
])('the monitor reports a log as %s, ends, and keeps the head that it saw before', async (word, shown, says) => {
  await looked(await showing(log));
  const before = readFileSync(state, 'utf8');
  const ended = await vouchbox(['monitor', await showing(shown, says), ...pinned()]);
  expect([ended.code, ended.stdout]).toEqual([6, expect.stringMatching(new RegExp(`^${word} `))]);
  expect(readFileSync(state, 'utf8')).toBe(before);
});

test('if two addresses show two histories of one log, the monitor saves a proof that convinces anyone', async () => {
  const forked = grownBy(new TestLog(undefined, log.key), 9, 'another');
  const ended = await vouchbox(['monitor', await showing(log), await showing(forked), ...pinned()]);
  expect([ended.code, ended.stdout]).toEqual([6, expect.stringContaining('FORKED')]);
  const shown = await serviceVerify(['head', state, `${state}.shown`, '--log-key', file(log.key.text)]);
  expect([shown.exitCode, shown.stdout]).toEqual([6, expect.stringContaining('FORKED')]);
});

test('beside a promise, the monitor saves the first head that a witness saw after the promised time', async () => {
  const [due, later, elsewhere] = [promiseBy(SEEN), promiseBy(SEEN + 1), promiseBy(SEEN, 'log.example/log/2')];
  const promises = [due, later, elsewhere].flatMap((promise) => ['--promise', promise]);
  const first = await looked(await showing(log), ...promises);
  expect([first.code, first.stderr]).toEqual([0, expect.stringContaining(`is in ${due}.head`)]);
  expect([due, later, elsewhere].map((promise) => existsSync(`${promise}.head`))).toEqual([true, false, false]);
  const kept = readFileSync(`${due}.head`, 'utf8');
  expect(kept).toContain('log.example/log/1\n10\n');
  const again = await looked(await showing(grownBy(log.fork(), 5, 'more')), ...promises);
  expect([again.code, readFileSync(`${due}.head`, 'utf8')]).toEqual([0, kept]);
  const none = await looked(await showing(log), '--promise', file('none'));
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('is no promise')]);
});

test.each(['--log-key', '--witness', '--promise'])(
  'vouchbox monitor reports in one line that the file with %s cannot be read',
  async (option) => {
    const nowhere = join(scratch, 'nowhere');
    const looked = await vouchbox(['monitor', 'http://127.0.0.1:1', ...pinned(), '--once', option, nowhere]);
    expect(looked).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^vouchbox: .*nowhere cannot be read: .*\n$/),
    });
  },
);

test('with --accept-reopened, the monitor follows the next tree of a log that was opened again', async () => {
  await looked(await showing(log));
  const next = grownBy(log.reopened(), 4, 'statement');
  const accepted = await looked(await showing(next), '--accept-reopened');
  expect([accepted.code, accepted.stdout]).toEqual([0, expect.stringContaining('REOPENED: 10 leaves up to')]);
  expect(await looked(await showing(next))).toMatchObject({ code: 0 });
  expect(await looked(await showing(log))).toMatchObject({ code: 6, stdout: expect.stringMatching(/^ROLLED BACK/) });
});

test('with --accept-reopened, a monitor that keeps running accepts one new tree of a log, but no later tree', async () => {
  await looked(await showing(log));
  const next = log.reopened();
  const says: Record<string, string> = {};
  const words = ['--every', '1', '--accept-reopened'];
  await using monitor = new Command(['monitor', await showing(next, says), ...pinned(), ...words]);
  await monitor.shows(/REOPENED: 10 leaves/);
  says['/log/checkpoint'] = next.reopened().checkpoint();
  expect(await monitor.ended()).toMatchObject({
    code: 6,
    stdout: expect.stringMatching(/\nREOPENED {2}.*: REOPENED: 1 leaves up to the head of log.example\/log\/2 /),
  });
});

test('a promise made in one tree of a log must be kept in the next tree, and the monitor watches for this', async () => {
  await looked(await showing(log));
  const due = promiseBy(SEEN);
  const words = ['--promise', due, '--promise', due, '--accept-reopened'];
  const next = await looked(await showing(log.reopened()), ...words);
  expect([next.code, next.stderr]).toEqual([0, expect.stringContaining(`is in ${due}.head`)]);
  expect(readFileSync(`${due}.head`, 'utf8')).toContain('log.example/log/2\n1\n');
});

test('the monitor says that only two different heads with the same size would prove a fork to others', async () => {
  await looked(await showing(log));
  const older = await looked(await showing(grownBy(new TestLog(undefined, log.key), 3, 'statement')));
  expect([older.code, older.stderr]).toEqual([
    6,
    expect.stringContaining('Only two different heads of the same size would prove'),
  ]);
  const forked = await looked(await showing(grownBy(new TestLog(undefined, log.key), 9, 'another')));
  expect([forked.code, forked.stderr]).toEqual([6, expect.stringContaining('show both to anyone')]);
});

test.each([
  ['does not answer', 'http://127.0.0.1:1'],
  ['answers with too much', { '/log/checkpoint': 'A'.repeat(200_000) }],
  ['shows no proof that it grew', { '/log/consistency': 'garbage' }],
])('the monitor reports NO ANSWER from a log that %s', async (_what, says) => {
  await looked(await showing(log));
  const url = typeof says === 'string' ? says : await showing(grownBy(log.fork(), 5, 'more'), says);
  expect(await looked(url)).toMatchObject({ code: 4, stdout: expect.stringMatching(/^NO ANSWER/) });
});

test('vouchbox monitor refuses an --every that is longer than a Node timer can wait', async () => {
  const ended = await vouchbox(['monitor', await showing(log), ...pinned(), '--every', '9999999']);
  expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('from 1 to 2147483') });
});

test('vouchbox monitor runs until it is interrupted', async () => {
  const shown = log.fork();
  await using monitor = new Command(['monitor', await showing(shown), ...pinned(), '--every', '1']);
  await monitor.shows(/seen for the first time/);
  grownBy(shown, 2, 'more');
  await monitor.shows(/2 more/);
  monitor.kill('SIGINT');
  expect(await monitor.ended()).toMatchObject({ code: 0 });
});
