/**
 * Two nodes with one database and one log. Each node is killed in the middle of a burst, and one node is
 * killed while its first canary runs. The log must be one tree with one leaf for each job.
 */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServiceClient, type ServiceClient } from '@vouchbox/client';
import { CANARY_TENANT, noteKey, noteKeyText, parseCheckpoint } from '@vouchbox/evidence';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { openLogKey } from '../../packages/server/src/job/sign/keys/log-key.ts';
import { openSigningKeys } from '../../packages/server/src/job/sign/keys/signing-keys.ts';
import { Session } from '../../packages/server/src/store/postgres/connection.ts';
import { dropSchema, newSchema } from '../../packages/server/src/store/postgres/schema.fixture.ts';
import { CRASH_KEY, CRASH_TENANT, ServiceProcess } from '../crash/service-process.ts';
import { Command, vouchbox } from '../rig/command.ts';
import { isLongForm } from '../rig/form.ts';
import { leftoversOf } from '../rig/leftovers.ts';

const BURST = 60;
/** How long another node on a busy machine may take to end a killed node's jobs. */
const patience = { timeout: 90_000, interval: 100 };
/** A test waits several times, each time up to `patience`. On an idle machine, the test takes a minute. */
const testMilliseconds = 10 * 60_000;

let scratch: string;
let schema: string;
let keys: string;
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-log-nodes-'));
  keys = mkdtempSync(join(scratch, 'keys-'));
  openSigningKeys(keys);
});
afterAll(() => rmSync(scratch, { recursive: true }));

let written = 0;
function file(content: string | Uint8Array): string {
  const path = join(scratch, `file-${++written}`);
  writeFileSync(path, content);
  return path;
}

/** A node that can be killed and started again with its data. All nodes sign with the same keys. */
class Node implements AsyncDisposable {
  readonly dataDir = mkdtempSync(join(scratch, 'node-'));
  readonly #environment: Readonly<Record<string, string>>;
  #process: ServiceProcess | null = null;

  constructor(environment: Readonly<Record<string, string>>) {
    this.#environment = { ...environment, SERVICE_DATABASE_URL: schema, SERVICE_ATTESTATION_MODE: 'on' };
    cpSync(join(keys, 'attestation-keys'), join(this.dataDir, 'attestation-keys'), { recursive: true });
  }

  async start(): Promise<this> {
    this.#process = await ServiceProcess.start({ dataDir: this.dataDir, environment: this.#environment });
    return this;
  }

  get url(): string {
    return this.#process?.url ?? '';
  }

  get client(): ServiceClient {
    return createServiceClient({ baseUrl: this.url, apiKey: CRASH_KEY });
  }

  async kill(): Promise<void> {
    await this.#process?.kill();
  }

  /** Stops the node, and returns what it left on the host. */
  async stop(): Promise<readonly string[]> {
    const code = await this.#process?.stop();
    return [...leftoversOf(this.dataDir), ...(code === 0 ? [] : [`it ended with ${code}: ${this.#process?.said}`])];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

async function rowsOf<Row extends object>(sql: string): Promise<readonly Row[]> {
  await using session = await Session.open(schema, {});
  return (await session.execute<Row>({ sql, parameters: [] })).rows;
}

describe.runIf(isLongForm)('two nodes on one database', () => {
  beforeAll(async () => {
    schema = await newSchema(inject('postgresUrl'));
  });
  afterAll(() => dropSchema(schema));

  test('keep one tree with a witness even if each node is killed during a burst of jobs', {
    tags: ['Log-2', 'Log-7'],
    timeout: testMilliseconds,
  }, async () => {
    const made = noteKey('log.example/log/1', 'note', openLogKey(keys, { mayMake: true })?.raw ?? new Uint8Array());
    if (made.kind === 'refused') throw new Error(made.reason);
    const logKey = file(noteKeyText(made.key));
    const state = ['--state', join(scratch, 'witness.json'), '--name', 'witness.example', '--port', '0'];
    await using witness = new Command(['witness', ...state, '--log-key', logKey]);
    const [, witnessUrl = '', witnessKey = ''] = await witness.shows(/listening on (\S+)\n(\S+)\n/);
    const settings = {
      SERVICE_PROVIDER: 'subprocess',
      SERVICE_LOG_HOST: 'log.example',
      SERVICE_LOG_PROMISES: 'all',
      SERVICE_LOG_WITNESSES: file(`${witnessKey} ${witnessUrl}\n`),
    };
    await using one = await new Node(settings).start();
    await using other = await new Node(settings).start();
    const nodes = [one, other];
    const pinned = ['--log-key', logKey, '--witness', file(witnessKey)];
    const seen = join(scratch, 'seen');
    const isOneLog = async (urls: readonly string[]) => {
      const looked = await vouchbox(['monitor', ...urls, ...pinned, '--state', seen, '--once']);
      expect({ ...looked, stderr: '' }).toMatchObject({ code: 0, stdout: expect.stringContaining('WITNESSED by') });
    };
    const publicKey = file((await one.client.publicKey()).public_key_pem);

    /** Submits at each node in turn. If a node does not answer, submits at the other. */
    const accepted = async (name: string) => {
      let [node, another] = name.length % 2 === 0 ? [one, other] : [other, one];
      return await vi.waitFor(async () => {
        [node, another] = [another, node];
        const job = { language: 'bash', code: `echo ${name}` } as const;
        return (await node.client.submit(job, { idempotencyKey: name })).job_id;
      }, patience);
    };
    const jobs: string[] = [];
    for (const [turn, dying] of nodes.entries()) {
      const living = turn === 0 ? other : one;
      const burst = Array.from({ length: BURST }, (_, at) => accepted(`${'x'.repeat(at % 2)}${turn}-${at}`));
      const first = await burst[0];
      await vi.waitFor(() => living.client.logProof(first ?? ''), patience);
      await isOneLog([one.url, other.url]);
      await dying.kill();
      const ids = await Promise.all(burst);
      jobs.push(...ids);
      const proofOf = (job_id: string) => vi.waitFor(() => living.client.logProof(job_id), patience);
      for (const job_id of ids) {
        const proof = file((await proofOf(job_id)).bytes);
        const [envelope, promise] = [await living.client.attestation(job_id), await living.client.promise(job_id)];
        const kept = ['--envelope', file(envelope.bytes), '--log-proof', proof, '--require', 'kept'];
        const words = ['promise', file(promise.bytes), '--public-key', publicKey, '--tenant', CRASH_TENANT];
        const verified = await serviceVerify([...words, ...pinned.slice(0, 2), ...kept]);
        expect(verified).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('KEPT') });
      }
      await isOneLog([living.url]);
      await dying.start();
    }
    expect(new Set(jobs).size).toBe(2 * BURST);
    const head = parseCheckpoint(await (await fetch(`${one.url}/log/checkpoint`)).text());
    expect(head.kind === 'checkpoint' && head.checkpoint.size).toBe(1 + jobs.length);
    const { log } = await one.client.status();
    expect([log?.waiting, log?.last_error]).toEqual([0, null]);
    for (const node of nodes) expect(await node.stop()).toEqual([]);
  });
});

describe.runIf(isLongForm)('two nodes with canaries', () => {
  beforeAll(async () => {
    schema = await newSchema(inject('postgresUrl'));
  });
  afterAll(() => dropSchema(schema));

  test('run one canary each, and a node that was killed during its canary runs another', {
    tags: ['Canary-1'],
    timeout: testMilliseconds,
  }, async () => {
    const settings = { SERVICE_CANARIES: 'on' };
    await using one = await new Node(settings).start();
    await using other = await new Node(settings).start();
    const canaries = () =>
      rowsOf<{ status: string }>(`select status from jobs where tenant = '${CANARY_TENANT}' order by created_at`);
    const program = { language: 'python', code: 'print("hi")' } as const;
    await one.client.run(program);
    await vi.waitFor(async () => expect(await canaries()).toHaveLength(1), { timeout: 60_000, interval: 1 });
    await one.kill();
    await one.start();
    const hasCanary = async ({ client }: Node) => {
      const { job_id } = await client.run(program);
      await vi.waitFor(() => client.canary(job_id), { timeout: 5000, interval: 100 });
    };
    for (const node of [one, other]) await vi.waitFor(() => hasCanary(node), patience);
    for (let each = 0; each < 20; each++) await Promise.all([one.client.run(program), other.client.run(program)]);
    const ended = () => canaries().then((rows) => rows.map(({ status }) => status));
    // The last attempt of a canary takes too much memory, so a complete canary ends as oom_killed. The kill of the node
    // ended the first canary before that attempt, unless, on a busy machine, the canary was already over.
    const first = expect.stringMatching(/^(error|oom_killed)$/) as string;
    await expect.poll(ended, { timeout: 60_000 }).toEqual([first, 'oom_killed', 'oom_killed']);
    for (const node of [one, other]) expect(await node.stop()).toEqual([]);
  });
});
