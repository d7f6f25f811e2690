/** Spec § Endpoints, § Errors, § Response transfer rules: the reference client against the real service. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { createServiceClient, type ServiceClient } from '@vouchbox/client';
import { OPERATIONS, type OperationId, type Scope } from '@vouchbox/protocol';
import { openCredentials } from '@vouchbox/server';
import type { TSchema } from 'typebox';
import { Errors } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { Rig, useRig } from '../rig/rig.ts';

const METRICS_TOKEN = 'token-of-metrics';
const rig = useRig({
  provider: 'subprocess',
  'attestation-mode': 'on',
  'metrics-token': METRICS_TOKEN,
  links: 'on',
  'tenant-waits-max': '1',
});
const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } } as const;

/** The client's methods for each operation. This table does not compile if an operation is missing. */
const METHODS = {
  getHealth: ['health'],
  getReadiness: ['readiness'],
  getContract: ['openapi'],
  submitJob: ['submit'],
  listJobs: ['list', 'listAll'],
  getJob: ['detail'],
  cancelJob: ['cancel'],
  getResult: ['result', 'waitForResult'],
  replayEvents: ['replay', 'events'],
  mintStreamTicket: ['streamTicket'],
  streamEvents: ['follow'],
  putBlob: ['upload'],
  getBlob: ['download', 'downloadPieces'],
  submitGrading: ['submitGrading'],
  listGradings: ['gradings'],
  getGrading: ['grading', 'waitForGrading'],
  cancelGrading: ['cancelGrading'],
  gradingEvents: ['gradingEvents'],
  listToolCalls: ['toolCalls'],
  answerToolCall: ['answerToolCall', 'answerToolCalls'],
  createLink: ['createLink'],
  listLinks: ['links'],
  revokeLink: ['revokeLink'],
  listSessions: ['sessions'],
  getSession: ['session'],
  removeSession: ['removeSession'],
  getAttestation: ['attestation'],
  getResultArtifact: ['resultArtifact'],
  getLogProof: ['logProof'],
  getPromise: ['promise'],
  getPending: ['pending'],
  getCanary: ['canary'],
  getPublicKey: ['publicKey'],
  getCapabilities: ['capabilities'],
  getWhoami: ['whoami'],
  getStatus: ['status'],
  getTenantMetrics: ['metrics'],
  getMetrics: ['serviceMetrics'],
} as const satisfies Record<OperationId, readonly (keyof ServiceClient)[]>;

/** The client's methods that combine several operations, or check what operations returned. */
const COMPOSED = ['grade', 'run', 'runs', 'verify', 'workspace'] as const;

test('the client has a method for every operation of the contract, and only the listed others', () => {
  expect([...Object.values<readonly string[]>(METHODS).flat(), ...COMPOSED].toSorted()).toEqual(
    Object.keys(rig().alpha.client).toSorted(),
  );
});

describe('each method returns what the contract promises:', { tags: ['What-1', 'Ticket-2'] }, () => {
  /** Operations that answer with JSON, each called through its method. */
  const asked: readonly [OperationId, (client: ServiceClient, job_id: string) => Promise<unknown>][] = [
    ['getHealth', (client) => client.health()],
    ['getReadiness', (client) => client.readiness()],
    ['getContract', (client) => client.openapi()],
    ['listJobs', (client) => client.list({ limit: 2, status: ['succeeded'], language: 'bash' })],
    ['getJob', (client, job_id) => client.detail(job_id)],
    ['cancelJob', (client, job_id) => client.cancel(job_id)],
    ['getResult', (client, job_id) => client.result(job_id, { waitSeconds: 1 })],
    ['replayEvents', (client, job_id) => client.replay(job_id, { after: 1, limit: 2 })],
    ['mintStreamTicket', (client, job_id) => client.streamTicket(job_id)],
    ['createLink', (client, job_id) => client.createLink(job_id, { shows: ['code'], expires_in: 60 })],
    ['listLinks', (client, job_id) => client.createLink(job_id).then(() => client.links(job_id))],
    [
      'revokeLink',
      (client, job_id) => client.createLink(job_id).then(({ link_id }) => client.revokeLink(job_id, link_id)),
    ],
    ['putBlob', (client) => client.upload('a file')],
    ['getPublicKey', (client) => client.publicKey()],
    ['getCapabilities', (client) => client.capabilities()],
    ['getWhoami', (client) => client.whoami()],
    ['getStatus', (client) => client.status()],
  ];

  test.each(asked)('%s', async (id, ask) => {
    const { client } = rig().alpha;
    const { job_id } = await rig().run({ language: 'bash', code: 'echo a; echo b >&2' });
    const { answers } = OPERATIONS[id] as { answers: Record<number, { content: Record<string, TSchema> }> };
    const schema = Object.values(answers)[0]?.content['application/json'];
    expect([...Errors(schema as TSchema, await ask(client, job_id))]).toEqual([]);
  });

  test('methods that return bytes or read several answers', async () => {
    const { client } = rig().alpha;
    const { job_id, events } = await rig().run({ language: 'bash', code: 'echo a' });
    expect(await Array.fromAsync(client.follow(job_id))).toEqual(events);
    expect((await Array.fromAsync(client.listAll({ limit: 1 }))).map((item) => item.job_id)).toContain(job_id);
    for (const read of [() => client.attestation(job_id), () => client.resultArtifact(job_id)]) {
      const patient = async () => await read().catch(() => null);
      await expect.poll(patient).toMatchObject({ sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown });
    }
    const { blob } = await client.upload(new Uint8Array(100_000));
    expect((await client.download(blob)).bytes).toEqual(new Uint8Array(100_000));
    for (const format of ['openmetrics', 'prometheus'] as const) {
      const type = OPERATIONS.getTenantMetrics.answers[200].content;
      for (const metrics of [
        await client.metrics({ format }),
        await client.serviceMetrics(METRICS_TOKEN, { format }),
      ]) {
        expect(Object.keys(type)).toContain(metrics.mediaType);
        expect(metrics.mediaType.includes('openmetrics')).toBe(format === 'openmetrics');
        expect(metrics.text).toContain('# TYPE svc_');
      }
    }
    await expect(client.serviceMetrics(rig().alpha.key)).rejects.toMatchObject({ code: 'unauthorized' });
  });
});

test('a link leads to a page of the service, and the link’s secret reads the result until the link is revoked', async () => {
  const { client } = rig().alpha;
  const { job_id } = await rig().run({ language: 'bash', code: 'echo handed on' });
  const link = await client.createLink(job_id, { shows: ['code'] });
  const { origin, pathname, hash } = new URL(link.address);
  expect([origin, pathname]).toEqual([rig().service.url, `/links/${link.link_id}`]);
  const read = () => rig().request(`${pathname}/result`, { key: hash.slice(1) });
  expect((await read()).json).toMatchObject({ stdout: 'handed on\n' });
  const { items } = await client.links(job_id);
  expect(items).toMatchObject([{ link_id: link.link_id, shows: ['code'] }]);
  expect(JSON.stringify(items)).not.toContain(hash.slice(1));
  const refused = await client.revokeLink(job_id, '../../result').catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 'link_not_found' });
  await client.revokeLink(job_id, link.link_id);
  expect((await read()).json.error.code).toBe('link_not_found');
  expect(await client.links(job_id)).toEqual({ items: [], may_make: true });
});

describe('a client whose key may submit jobs but not read them', { tags: ['Submit-8c'] }, () => {
  const keyWith = async (...scopes: Scope[]) => {
    await using operator = await openCredentials({ dataDir: rig().dataDir });
    return (await operator.create({ tenant: 'alpha', principal: null, scopes, expires_at: null })).key;
  };
  const clientWith = async (...scopes: Scope[]) =>
    createServiceClient({ baseUrl: rig().service.url, apiKey: await keyWith(...scopes) });
  const refused = { code: 'insufficient_scope', status: 403, message: expect.stringContaining('"jobs:read"') };

  test('submits jobs, but each of its reads fails with the name of the missing scope', async () => {
    const client = await clientWith('jobs:submit');
    const { job_id } = await client.submit({ language: 'bash', code: 'true' });
    await expect(client.result(job_id)).rejects.toMatchObject(refused);
    await expect(client.waitForResult(job_id)).rejects.toMatchObject(refused);
    await expect(Array.fromAsync(client.follow(job_id))).rejects.toMatchObject(refused);
    await expect(client.run({ language: 'bash', code: 'true' })).rejects.toMatchObject(refused);
    expect((await rig().ended(job_id)).result.status).toBe('succeeded');
  });

  test('makes no job with run(), because run() would have to read the result', async () => {
    const client = await clientWith('jobs:submit', 'service:read');
    const before = await rig().jobCount();
    await expect(client.run({ language: 'bash', code: 'true' })).rejects.toMatchObject(refused);
    expect(await rig().jobCount()).toBe(before);
  });
});

/**
 * A TCP proxy. A test can point the proxy to another service, and limit how many bytes of an answer pass.
 */
async function openWay(port: number) {
  const way = { port, bytesLeft: Number.POSITIVE_INFINITY };
  const server = createServer((client) => {
    const service = connect(way.port, '127.0.0.1');
    const end = () => {
      client.destroy();
      service.destroy();
    };
    client.on('error', end).on('close', end).pipe(service);
    service
      .on('error', end)
      .on('close', end)
      .on('data', (bytes: Buffer) => {
        client.write(bytes.subarray(0, way.bytesLeft));
        way.bytesLeft -= bytes.length;
        if (way.bytesLeft > 0) return;
        way.bytesLeft = Number.POSITIVE_INFINITY;
        client.end();
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: own } = server.address() as AddressInfo;
  const close = () => server.close();
  return { way, url: `http://127.0.0.1:${own}`, [Symbol.dispose]: close };
}

describe('the client with an unreliable service:', () => {
  test('waits after a capacity refusal as long as Retry-After says', async () => {
    const { alpha, service } = rig();
    const { job_id } = await alpha.client.submit(sleeper);
    const held = rig().request(`/v1/jobs/${job_id}/result?wait_seconds=60`);
    await rig().request('/v1/whoami');
    const pauses: number[] = [];
    const client = createServiceClient({
      baseUrl: service.url,
      apiKey: alpha.key,
      async sleep(milliseconds) {
        pauses.push(milliseconds);
        await alpha.client.cancel(job_id);
        await held;
      },
    });
    expect((await client.result(job_id, { waitSeconds: 60 })).status).toBe('cancelled');
    expect(pauses).toHaveLength(1);
    expect(pauses[0]).toBeGreaterThanOrEqual(1000);
  });

  test('requests a result again if the answer was cut off', async () => {
    const { job_id } = await rig().run({ language: 'bash', code: 'head -c 300000 /dev/zero | tr "\\0" x' });
    using front = await openWay(rig().port);
    front.way.bytesLeft = 100_000;
    const seen: string[] = [];
    const sleep = async () => void seen.push('again');
    const client = createServiceClient({ baseUrl: front.url, apiKey: rig().alpha.key, sleep });
    expect((await client.result(job_id)).stdout).toBe('x'.repeat(300_000));
    expect(seen).toEqual(['again']);
  });

  test('makes only one job when the answer to a submission is lost and the client submits again', async () => {
    using front = await openWay(rig().port);
    front.way.bytesLeft = 20;
    const client = createServiceClient({ baseUrl: front.url, apiKey: rig().alpha.key, sleep: async () => {} });
    const before = await rig().jobCount();
    const submitted = await client.submit({ language: 'bash', code: 'true' });
    expect(submitted.replayed).toBe(true);
    expect(await rig().jobCount()).toBe(before + 1);
    await rig().ended(submitted.job_id);
  });

  test('follows a job across a restart of the service, and yields each event once', async () => {
    const first = await Rig.start({ provider: 'subprocess', 'drain-seconds': '0.1' });
    using front = await openWay(first.port);
    const restarted = Promise.withResolvers<void>();
    const client = createServiceClient({ baseUrl: front.url, apiKey: first.alpha.key, sleep: () => restarted.promise });
    const { job_id } = await client.submit(sleeper);
    let second: Rig | null = null;
    const restart = async () => {
      expect(await first.stop('kept')).toEqual([]);
      second = await Rig.start({ provider: 'subprocess' }, first.dataDir);
      front.way.port = second.port;
      restarted.resolve();
      return second;
    };
    let restarting: Promise<Rig> | null = null;
    const seqs: [number, string][] = [];
    for await (const { seq, kind } of client.follow(job_id)) {
      seqs.push([seq, kind]);
      if (kind === 'stdout') restarting = restart();
    }
    expect(seqs).toEqual([
      [1, 'queued'],
      [2, 'started'],
      [3, 'stdout'],
      [4, 'finished'],
    ]);
    const service = await restarting;
    expect((await service?.alpha.client.detail(job_id))?.terminal_reason).toBe('server_shutdown');
    expect(await service?.stop()).toEqual([]);
  });
});
