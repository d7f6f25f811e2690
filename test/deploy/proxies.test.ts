/** The sample configurations for proxies in deploy/: each runs in the real proxy in front of the real service, over TLS. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createServiceClient, type ServiceClient } from '@vouchbox/client';
import { STREAM_CLOSE_CODES } from '@vouchbox/protocol';
import { bodyBytesMax } from '@vouchbox/protocol/vocabulary';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Rig } from '../rig/rig.ts';
import { checkSample, isInstalled, makeCertificate, PROXIES, type RunningProxy, startProxy } from './proxy.ts';

const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } };
const before = getCACertificates('default');

describe.each(PROXIES)('$name in front of the service', (kind) => {
  const isMissing = !isInstalled(kind);
  const suffix = isMissing ? ` (not tried: ${kind.program} is not installed)` : '';
  let directory: string;
  let rig: Rig;
  let proxy: RunningProxy;
  let client: ServiceClient;

  beforeAll(async () => {
    if (isMissing) return;
    directory = mkdtempSync(join(tmpdir(), 'svc-proxy-'));
    setDefaultCACertificates([...before, makeCertificate(directory)]);
    rig = await Rig.start({ 'peer-connections-max': '256', 'drain-seconds': '600' });
    proxy = await startProxy(kind, directory, rig.port);
    client = createServiceClient({ baseUrl: proxy.url, apiKey: rig.alpha.key });
  });
  afterAll(async () => {
    if (isMissing) return;
    await proxy[Symbol.asyncDispose]();
    setDefaultCACertificates(before);
    rmSync(directory, { recursive: true });
  });

  const through = (path: string) =>
    fetch(`${proxy.url}${path}`, { headers: { authorization: `Bearer ${rig.alpha.key}` } });
  /**
   * The answer to a submission of exactly this many bytes: its JSON, followed by blanks. The request uses HTTP/1.1,
   * because Node's `fetch` does not send so much over HTTP/2.
   */
  async function submitBytes(bytes: number) {
    const headers = {
      authorization: `Bearer ${rig.alpha.key}`,
      'content-type': 'application/json',
      'content-length': bytes,
    };
    const sent = request(`${proxy.url}/v1/jobs`, { method: 'POST', headers });
    // If a proxy refuses, it may close the connection before everything was sent.
    const failed = once(sent, 'error');
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    sent.end(JSON.stringify({ language: 'bash', code: 'true' }).padEnd(bytes));
    const [answer] = await Promise.race([answered, failed.then(([error]) => Promise.reject(error as Error))]);
    return { status: answer.statusCode, body: JSON.parse(await text(answer)) as unknown };
  }
  async function started(): Promise<string> {
    const { job_id } = await client.submit(sleeper);
    for await (const { kind: event } of client.follow(job_id)) if (event === 'stdout') break;
    return job_id;
  }

  test.skipIf(isMissing)(`the proxy accepts its sample configuration unchanged${suffix}`, () => {
    expect(() => checkSample(kind, directory)).not.toThrow();
  });

  test.skipIf(isMissing)(
    `a job can be submitted, and a wait for its result is answered when the job ends${suffix}`,
    async () => {
      const job_id = await started();
      const waiting = through(`/v1/jobs/${job_id}/result?wait_seconds=300`);
      await client.cancel(job_id);
      expect(await (await waiting).json()).toMatchObject({ status: 'cancelled', stdout: 'started\n' });
    },
  );

  test.skipIf(isMissing)(`a stream shows output over WebSocket while the program runs${suffix}`, async () => {
    const { job_id } = await client.submit(sleeper);
    const states: string[] = [];
    const kinds: string[] = [];
    for await (const event of client.follow(job_id, { onState: (state) => states.push(state) })) {
      kinds.push(event.kind);
      if (event.kind === 'stdout') await client.cancel(job_id);
    }
    expect(states).toEqual(['connecting', 'live', 'closed']);
    expect(kinds).toEqual(expect.arrayContaining(['stdout', 'finished']));
  });

  test.skipIf(isMissing)(
    `the largest allowed body is accepted, and one byte more is refused with 413${suffix}`,
    async () => {
      expect(await submitBytes(bodyBytesMax)).toMatchObject({ status: 201, body: { status: 'queued' } });
      expect(await submitBytes(bodyBytesMax + 1)).toMatchObject({
        status: 413,
        body: { error: { code: 'payload_too_large', request_id: expect.stringMatching(/^req_/), retryable: false } },
      });
    },
  );

  test.skipIf(isMissing)(`the address /metrics is answered with 404${suffix}`, async () => {
    expect((await through('/metrics')).status).toBe(404);
  });

  test.skipIf(isMissing)(`waits and streams through the proxy end when the service stops${suffix}`, async () => {
    const job_id = await started();
    const { stream_url } = await client.streamTicket(job_id);
    const socket = new WebSocket(`${proxy.url.replace('https', 'wss')}${stream_url}`);
    await once(socket, 'message');
    const closed = once(socket, 'close') as Promise<[CloseEvent]>;
    const waiting = through(`/v1/jobs/${job_id}/result?wait_seconds=300`);
    const stopped = rig.stop();
    const [{ code }] = await closed;
    expect(code).toBe(STREAM_CLOSE_CODES.restarting);
    const answer = await waiting;
    expect([answer.status, ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([
      503,
      'shutting_down',
    ]);
    await client.cancel(job_id);
    expect(await stopped).toEqual([]);
    expect((await through('/healthz')).status).toBe(502);
  });
});
