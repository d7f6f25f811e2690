/** Spec § Versioning 5: what the client does if a server is older than v0.4 and lacks the routes of v0.4. */
import { describe, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { json, refusal, type ScriptedService, scriptedService } from '../test/scripted-service.ts';
import { createServiceClient } from './service-client.ts';
import type { ClientOptions } from './session.ts';

const event = (seq: number, kind: string, data: object) => ({ job_id: 'job_1', seq, kind, data });
const HISTORY = [
  event(1, 'queued', {}),
  event(2, 'stdout', { text: 'a line' }),
  event(3, 'stdout', { text: 'no end', partial: true }),
  event(4, 'stderr', { text: 'warning' }),
  event(5, 'violation', { type: 'wall_time', message: 'too long' }),
  event(6, 'finished', { status: 'failed' }),
];

/**
 * An older server with one job. The address of the job's stream contains the key. The job ends after `endsAfter` requests
 * for its detail.
 */
async function olderServer({ endsAfter = 1 } = {}): Promise<ScriptedService & { readonly opened: string[] }> {
  let asked = 0;
  const service = await scriptedService([
    (response, { method, url }) => {
      if (method !== 'GET' || url !== '/v1/jobs/job_1') {
        response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found');
        return;
      }
      const status = ++asked >= endsAfter ? 'failed' : 'running';
      json({ job_id: 'job_1', status, exit_code: 3, duration_ms: 12, receipt: {} })(response);
    },
  ]);
  const opened: string[] = [];
  new WebSocketServer({ server: service.server }).on('connection', (socket, { url = '' }) => {
    opened.push(url);
    const after = Number(new URLSearchParams(url.split('?')[1]).get('after'));
    for (const each of HISTORY.slice(after)) socket.send(JSON.stringify(each));
  });
  return Object.assign(service, { opened });
}

function clientOf({ baseUrl }: ScriptedService, options: Partial<ClientOptions> = {}) {
  return createServiceClient({ baseUrl, apiKey: 'key-1', sleep: async () => {}, ...options });
}

describe("a client that may send its key in a stream's address", () => {
  const legacy = 'key-in-stream-url';

  test('builds a result from the job detail and the events, and polls until the job ends', {
    tags: ['Versioning-5'],
  }, async () => {
    await using service = await olderServer({ endsAfter: 3 });
    expect(await clientOf(service, { legacy }).waitForResult('job_1')).toEqual({
      job_id: 'job_1',
      status: 'failed',
      exit_code: 3,
      duration_ms: 12,
      stdout: 'a line\nno end',
      stderr: 'warning\n',
      truncated: false,
      violations: [{ type: 'wall_time', message: 'too long' }],
      artifacts: [],
    });
  });

  test('returns the result of a running job at once if the caller does not ask to wait', async () => {
    await using service = await olderServer({ endsAfter: 9 });
    const { status, stdout } = await clientOf(service, { legacy }).result('job_1');
    expect([status, stdout, service.opened]).toEqual(['running', '', []]);
  });

  test("reads an ended job's stored events page by page from the stream", {
    tags: ['Versioning-5'],
  }, async () => {
    await using service = await olderServer();
    const seqs = await Array.fromAsync(clientOf(service, { legacy }).events('job_1', { limit: 4 }), ({ seq }) => seq);
    expect(seqs).toEqual([1, 2, 3, 4, 5, 6]);
    expect(service.opened.map((url) => url.replace(/.*after=/, ''))).toEqual(['0', '4']);
  });

  test('follows a job to its end', { tags: ['Versioning-5'] }, async () => {
    await using service = await olderServer();
    const seqs = await Array.fromAsync(clientOf(service, { legacy }).follow('job_1', { after: 4 }), ({ seq }) => seq);
    expect(seqs).toEqual([5, 6]);
  });
});

describe('a client that may not send its key in an address', () => {
  test.each([
    ['result', (client) => client.waitForResult('job_1')],
    ['replay', (client) => client.replay('job_1')],
    ['follow', (client) => Array.fromAsync(client.follow('job_1'))],
  ] satisfies [string, (client: ReturnType<typeof clientOf>) => Promise<unknown>][])(
    '%s fails with the name of the option that allows it, and sends the key nowhere',
    async (_name, ask) => {
      await using service = await olderServer();
      await expect(ask(clientOf(service))).rejects.toMatchObject({
        reason: 'unstructured',
        status: 404,
        message: expect.stringContaining("needs the option legacy: 'key-in-stream-url'") as string,
      });
      expect(service.opened).toEqual([]);
    },
  );

  test('gets an error for each signed document, and the error says that the server signs nothing', {
    tags: ['Versioning-5'],
  }, async () => {
    await using service = await olderServer();
    const client = clientOf(service);
    const says = { reason: 'unstructured', message: expect.stringContaining('nothing is signed') as string };
    await expect(client.attestation('job_1')).rejects.toMatchObject(says);
    await expect(client.resultArtifact('job_1')).rejects.toMatchObject(says);
    await expect(client.publicKey()).rejects.toMatchObject(says);
  });
});

test('the client uses no older route after a refusal with an error code', async () => {
  await using service = await scriptedService([refusal(404, 'job_not_found', {}, false)]);
  const client = clientOf(service, { legacy: 'key-in-stream-url' });
  for (const asked of [client.result('job_1'), client.replay('job_1'), client.attestation('job_1')]) {
    await expect(asked).rejects.toMatchObject({ code: 'job_not_found' });
  }
  expect(service.seen).toHaveLength(3);
});
