/**
 * A log and its witnesses over real HTTP. A good witness signs the log's heads, while others hang, lie, flood and redirect.
 * A service on a rolled-back store learns this from the witness, and signs results without logging them. docs/decisions/0067.
 */

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { Command, vouchbox } from '../rig/command.ts';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { Rig } from '../rig/rig.ts';

const SETTINGS = { provider: 'subprocess', 'attestation-mode': 'on', 'log-host': 'log.example' };
const python = { language: 'python', code: 'print("hi")' } as const;

/** The answers of hostile witnesses and of servers that are no witnesses. */
const HOSTILE: readonly RequestListener[] = [
  () => {},
  (_, response) => {
    const piece = Buffer.alloc(1 << 16, 'a');
    const pour = () => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', pour);
    pour();
  },
  (_, response) => response.writeHead(302, { location: `${witnessUrl}/add-checkpoint` }).end(),
  (_, response) => response.end(`— witness.example ${Buffer.alloc(76).toString('base64')}\n`),
  (_, response) => response.writeHead(409).end('999999999\n'),
  (_, response) => response.writeHead(422).end('no'),
];

let scratch: string;
let servers: Server[];
/** The hostile witnesses' lines for a file of witnesses. */
let hostile: string[];
let witness: Command;
let witnessUrl: string;
let witnessKey: string;
let logKey: string;
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-witnesses-'));
  const rig = await Rig.start(SETTINGS, join(scratch, 'data'));
  const { job_id } = await rig.alpha.client.run(python);
  await proofOf(rig, job_id);
  logKey = file(
    'log.key',
    ((await (await fetch(`${rig.service.url}/log/keys`)).json()) as { log_key: string }).log_key,
  );
  expect(await rig.stop('kept')).toEqual([]);
  cpSync(join(scratch, 'data'), join(scratch, 'older'), { recursive: true });
  await startWitness('0');
  servers = await Promise.all(HOSTILE.map(listening));
  hostile = servers.map((server) => `${witnessKey} http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  file('witnesses', `# those of the test\n${witnessKey} ${witnessUrl}/\n${hostile.join('\n')}\n`);
});
afterAll(async () => {
  await witness[Symbol.asyncDispose]();
  for (const server of servers) server.closeAllConnections();
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  rmSync(scratch, { recursive: true, force: true });
});

async function startWitness(port: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const words = ['--state', join(scratch, 'witness.json'), '--name', 'witness.example', '--port', port];
  witness = new Command(['witness', ...words, '--log-key', logKey], { env });
  [, witnessUrl = '', witnessKey = ''] = await witness.shows(/listening on (\S+)\n(\S+)\n/);
}

function listening(answer: RequestListener): Promise<Server> {
  const { promise, resolve } = Promise.withResolvers<Server>();
  const server = createServer(answer).listen(0, '127.0.0.1', () => resolve(server));
  return promise;
}

function file(name: string, content: string | Uint8Array): string {
  const path = join(scratch, name);
  writeFileSync(path, content);
  return path;
}

/** A job's proof, once the log has the job. */
const proofOf = async (rig: Rig, job_id: string) =>
  (await vi.waitFor(() => rig.alpha.client.logProof(job_id), { timeout: 20_000, interval: 50 })).bytes;

const witnessed = {
  ...SETTINGS,
  get 'log-witnesses'() {
    return join(scratch, 'witnesses');
  },
};

async function attestedThough(rig: Rig): Promise<string> {
  const { job_id } = await rig.alpha.client.run(python);
  await expect
    .poll(
      () =>
        rig.alpha.client.attestation(job_id).then(
          () => 'signed',
          () => 'not yet',
        ),
      { timeout: 20_000 },
    )
    .toBe('signed');
  return job_id;
}

const problemOf = async (rig: Rig) => (await rig.alpha.client.status()).log?.last_error ?? '';

/** A head waits two seconds for its witnesses. On a busy machine, perhaps only a later head has their signatures. */
const laterHead = { timeout: 60_000, interval: 500 };

test('a good witness among hostile ones cosigns each head, even after it was killed and restarted', {
  tags: ['Log-7'],
}, async () => {
  const rig = await Rig.start(witnessed, join(scratch, 'data'));
  const isWitnessed = async () => {
    const { job_id } = await rig.alpha.client.run(python);
    const proof = file('proof', await proofOf(rig, job_id));
    const { client } = rig.alpha;
    const [envelope, result, key] = [
      await client.attestation(job_id),
      await client.resultArtifact(job_id),
      await client.publicKey(),
    ];
    const verified = await serviceVerify([
      ...['verify', '--envelope', file('envelope', envelope.bytes), '--subject', file('result', result.bytes)],
      ...['--public-key', file('key', key.public_key_pem), '--tenant', 'alpha'],
      ...['--subject-name', `svc://jobs/${job_id}/result`, '--log-key', logKey, '--log-proof', proof],
      ...['--witness', file('witness.key', witnessKey)],
    ]);
    expect(verified.stdout).toContain('WITNESSED by witness.example');
    expect(await problemOf(rig)).toBe('');
  };
  for (let turn = 0; turn < 2; turn++) {
    await vi.waitFor(isWitnessed, laterHead);
    witness.kill('SIGKILL');
    await witness.ended();
    await startWitness(new URL(witnessUrl).port);
  }
  expect(await rig.stop('kept')).toEqual([]);
});

/** A module that ends a witness after it has stored its state and before it answers. */
const DIES = fileURLToPath(new URL('../log/dies-before-its-answer.mjs', import.meta.url));

slowTest(
  'a witness that dies after storing its state, before answering, cosigns the same tree afterwards',
  {
    tags: ['Log-7'],
  },
  async () => {
    const { port } = new URL(witnessUrl);
    witness.kill('SIGKILL');
    await witness.ended();
    // The log begins because the other witness in the file answers.
    const two = file('two', `${witnessKey} ${witnessUrl}\n${hostile.at(-1)}\n`);
    const rig = await Rig.start({ ...SETTINGS, 'log-witnesses': two }, join(scratch, 'data'));
    const proofText = async () => {
      const { job_id } = await rig.alpha.client.run(python);
      return new TextDecoder().decode(await proofOf(rig, job_id));
    };
    expect(await proofText()).not.toContain('\u2014 witness.example ');
    await startWitness(port, { NODE_OPTIONS: `--import=${DIES}` });
    let hasDied = false;
    const ended = witness.ended().finally(() => {
      hasDied = true;
    });
    await vi.waitFor(async () => {
      await proofText();
      expect(hasDied).toBe(true);
    }, laterHead);
    expect(await ended).toMatchObject({ signal: 'SIGKILL' });
    const kept = JSON.parse(readFileSync(join(scratch, 'witness.json'), 'utf8')) as { heads: Record<string, string> };
    const seen = file('kept', kept.heads['log.example/log/1'] ?? '');
    await startWitness(port);
    await expect.poll(proofText, { timeout: 30_000, interval: 500 }).toContain('\u2014 witness.example ');
    const { log } = await rig.alpha.client.status();
    expect(log?.witnesses.map(({ state }) => state)).toEqual(['signs', 'disagrees']);
    const words = ['--log-key', logKey, '--witness', file('witness.key', witnessKey), '--state', seen, '--once'];
    expect(await vouchbox(['monitor', rig.service.url, ...words])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^WITNESSED by witness.example .* more\n$/),
    });
    expect(await rig.stop('kept')).toEqual([]);
  },
);

slowTest(
  'a service with a rolled-back store signs results, adds nothing to its log, and reports the problem',
  {
    tags: ['Log-8', 'Log-8a'],
  },
  async () => {
    const older = join(scratch, 'older');
    const away = { ...SETTINGS, 'log-witnesses': file('away', `${witnessKey} http://127.0.0.1:1\n`) };
    const waiting = await Rig.start(away, older);
    await attestedThough(waiting);
    await expect.poll(() => problemOf(waiting), { timeout: 20_000 }).toMatch(/no witness has answered/);
    expect((await waiting.alpha.client.status()).log).toMatchObject({ size: 2, signed_size: 2, waiting: 1 });
    expect(await waiting.stop('kept')).toEqual([]);
    const rig = await Rig.start(witnessed, older);
    const stopped = async () => {
      const job_id = await attestedThough(rig);
      expect(await problemOf(rig)).toMatch(/the store is older than the log/);
      return job_id;
    };
    const job_id = await vi.waitFor(stopped, laterHead);
    await expect(rig.alpha.client.logProof(job_id)).rejects.toMatchObject({ code: 'log_proof_unavailable' });
    expect(await rig.stop('kept')).toEqual([]);
    const alone = await Rig.start(SETTINGS, older);
    await attestedThough(alone);
    await expect.poll(() => problemOf(alone), { timeout: 20_000 }).toMatch(/the store is older than the log/);
    expect(await alone.stop('kept')).toEqual([]);
  },
);

test('a service whose store is older than the mark in its data directory adds nothing to its log', {
  tags: ['Log-8'],
}, async () => {
  const dataDir = join(scratch, 'marked');
  cpSync(join(scratch, 'older'), dataDir, { recursive: true });
  writeFileSync(join(dataDir, 'log-mark'), readFileSync(join(scratch, 'data/log-mark')));
  const rig = await Rig.start(SETTINGS, dataDir);
  await attestedThough(rig);
  await expect.poll(() => problemOf(rig), { timeout: 20_000 }).toMatch(/the store is older than the log/);
  expect(await rig.stop('kept')).toEqual([]);
});

interface KeysAnswer {
  readonly origin: string;
  readonly opening: { readonly payload: string };
}

/** Opens the next tree, and reads the statement that opened it. */
async function reopened(
  rig: Rig,
): Promise<{ readonly stderr: string; readonly previous: string; readonly origin: string }> {
  const { code, stderr } = await vouchbox(['log', 'reopen', '--yes', '--data-dir', rig.dataDir]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const keys = await vi.waitFor(
    async () => {
      const answer = await fetch(`${rig.service.url}/log/keys`);
      if (!answer.ok)
        throw new Error(`no head is signed yet: ${JSON.stringify((await rig.alpha.client.status()).log)}`);
      const read = (await answer.json()) as KeysAnswer;
      if (!read.origin.endsWith('/2')) throw new Error(`it is still ${read.origin}`);
      return read;
    },
    { timeout: 20_000, interval: 50 },
  );
  const { predicate } = JSON.parse(Buffer.from(keys.opening.payload, 'base64').toString()) as {
    readonly predicate: { readonly previous: string };
  };
  return { stderr, origin: keys.origin, previous: predicate.previous };
}

slowTest(
  "vouchbox log reopen begins the log's next tree with the last witnessed head and the waiting statements",
  {
    tags: ['Log-9'],
  },
  async () => {
    const rig = await Rig.start(witnessed, join(scratch, 'older'));
    const job_id = await attestedThough(rig);
    await expect.poll(() => problemOf(rig), { timeout: 20_000 }).toMatch(/the store is older than the log/);
    const unasked = await vouchbox(['log', 'reopen', '--data-dir', rig.dataDir]);
    expect(unasked).toMatchObject({ code: 1, stderr: expect.stringContaining('--yes') });
    const { stderr, previous, origin } = await reopened(rig);
    expect(stderr).toMatch(/REOPENED: \d+ leaves up to the last head of log.example\/log\/1 are no longer provable/);
    expect(origin).toBe('log.example/log/2');
    expect(previous).toMatch(/^log.example\/log\/1\n[\s\S]*\u2014 witness.example /);
    const proof = new TextDecoder().decode(await proofOf(rig, job_id));
    expect(proof).toMatch(/\nlog.example\/log\/2\n[\s\S]*\u2014 witness.example /);
    expect(await problemOf(rig)).toBe('');
    expect(await rig.stop('kept')).toEqual([]);
  },
);

test('a service with a restored store adds nothing to its log until vouchbox log reopen opens the next tree', {
  tags: ['Log-9'],
}, async () => {
  const [from, dataDir, backup] = [join(scratch, 'data'), join(scratch, 'restored'), join(scratch, 'backup')];
  expect(await vouchbox(['backup', backup, '--data-dir', from])).toMatchObject({ code: 0 });
  const keys = ['--attestation-keys', join(from, 'attestation-keys')];
  const told = await vouchbox(['restore', backup, '--data-dir', dataDir, ...keys]);
  expect(told).toMatchObject({ code: 0, stderr: expect.stringContaining('`vouchbox log reopen` opens the next tree') });
  const rig = await Rig.start(SETTINGS, dataDir);
  const job_id = await attestedThough(rig);
  await expect.poll(() => problemOf(rig), { timeout: 20_000 }).toMatch(/the log is closed/);
  expect((await fetch(`${rig.service.url}/log/checkpoint`)).status).toBe(200);
  expect((await reopened(rig)).previous).toMatch(/^log.example\/log\/1\n/);
  await proofOf(rig, job_id);
  expect(await rig.stop('kept')).toEqual([]);
});

test('a service does not start with an empty file of witnesses', async () => {
  const words = ['serve', '--port', '0', '--provider', 'subprocess', '--log-host', 'log.example'];
  const bad = file('bad', `${readFileSync(logKey, 'utf8')} http://127.0.0.1:1\n`);
  const refused = await vouchbox([...words, '--data-dir', join(scratch, 'other'), '--log-witnesses', bad]);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('the key of a log, not of a witness') });
});
