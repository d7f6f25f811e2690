/** Spec § POST /v1/jobs/{id}/stream-ticket, § WebSocket stream, § Authentication 6: tickets and streams over HTTP. */
import { STREAM_CLOSE_CODES } from '@vouchbox/protocol';
import { type OpenCredentials, openCredentials } from '@vouchbox/server';
import { describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { Rig, useRig } from '../rig/rig.ts';
import { loadSize, loadTimeout } from './load-size.ts';

const rig = useRig({ provider: 'subprocess', concurrency: '4', 'streams-max': '200', 'tenant-streams-max': '200' });
const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } };

interface Ticket {
  readonly ticket: string;
  readonly stream_url: string;
  readonly expires_at: string;
}

async function mint(service: Rig, job_id: string, key = service.alpha.key): Promise<Ticket> {
  const { status, json } = await service.request(`/v1/jobs/${job_id}/stream-ticket`, { method: 'POST', key });
  expect(status).toBe(201);
  return json;
}

/** The answer to an upgrade: 101, or the refusal's status and code. Drops the connection afterwards. */
async function upgrade(service: Rig, stream_url: string): Promise<readonly [number, string?]> {
  const socket = new WebSocket(service.service.url.replace('http', 'ws') + stream_url);
  const { promise, resolve } = Promise.withResolvers<readonly [number, string?]>();
  socket.on('upgrade', () => resolve([101]));
  socket.on('error', () => {});
  socket.on('unexpected-response', (_request, response) => {
    let body = '';
    response.on('data', (piece: Buffer) => (body += piece.toString()));
    response.on('end', () => resolve([response.statusCode ?? 0, JSON.parse(body).error.code as string]));
  });
  const answered = await promise;
  socket.terminate();
  return answered;
}

/** The sequence numbers and kinds that a stream sent, and its close code. */
async function streamed(service: Rig, stream_url: string, key: string | null = null) {
  const headers = key === null ? {} : { authorization: `Bearer ${key}` };
  const socket = new WebSocket(service.service.url.replace('http', 'ws') + stream_url, { headers });
  const events: { readonly seq: number; readonly kind: string }[] = [];
  socket.on('message', (data: Buffer) => events.push(JSON.parse(data.toString()) as { seq: number; kind: string }));
  const code = await new Promise<number>((resolve, reject) => socket.on('close', resolve).on('error', reject));
  return { events, code };
}

/** Makes a key that expires soon, and two tickets before it expires. If this takes too long, tries with a later expiry. */
async function mintedBeforeTheEnd(operator: OpenCredentials, job_id: string, seconds = 1): Promise<[string, Ticket[]]> {
  const expires_at = new Date(Date.now() + seconds * 1000).toISOString();
  const { key } = await operator.create({ tenant: 'alpha', principal: null, scopes: null, expires_at });
  const path = `/v1/jobs/${job_id}/stream-ticket`;
  const answers = await Promise.all([1, 2].map(() => rig().request(path, { method: 'POST', key })));
  const isLate = answers.some(({ status }) => status === 401);
  if (isLate) return await mintedBeforeTheEnd(operator, job_id, seconds * 2);
  return [key, answers.map(({ json }) => json as Ticket)];
}

async function begun({ alpha }: Rig): Promise<string> {
  const { job_id } = await alpha.client.submit(sleeper);
  for await (const { kind } of alpha.client.follow(job_id)) if (kind === 'stdout') break;
  return job_id;
}

describe('a ticket', () => {
  test('opens only one of fifty streams that use it concurrently', { tags: ['Ticket-3'] }, async () => {
    const job_id = await begun(rig());
    for (let round = 0; round < loadSize({ small: 2, full: 100 }); round++) {
      const { stream_url } = await mint(rig(), job_id);
      const answers = await Promise.all(Array.from({ length: 50 }, () => upgrade(rig(), stream_url)));
      const statuses = answers.map(([status]) => status).toSorted((a, b) => a - b);
      expect(statuses).toEqual([101, ...Array<number>(49).fill(401)]);
    }
    await rig().alpha.client.cancel(job_id);
  });

  test('is refused once its credential has expired', async () => {
    const { job_id } = await rig().run({ language: 'bash', code: 'true' });
    const operator = await openCredentials({ dataDir: rig().dataDir });
    const [key, tickets] = await mintedBeforeTheEnd(operator, job_id);
    await expect.poll(async () => (await rig().request('/v1/whoami', { key })).status, { timeout: 20_000 }).toBe(401);
    for (const { stream_url } of tickets) expect(await upgrade(rig(), stream_url)).toEqual([401, 'unauthorized']);
  });

  test('is refused like a missing credential if it was already used, is forged, or is for another job', async () => {
    const [first, second] = [await rig().run({ language: 'bash', code: 'true' }), await rig().run(sleeperOf(0))];
    const { ticket, stream_url } = await mint(rig(), first.job_id);
    const { ticket: other } = await mint(rig(), first.job_id);
    expect((await streamed(rig(), stream_url)).code).toBe(STREAM_CLOSE_CODES.finished);
    for (const url of [
      stream_url,
      stream_url.replace(ticket, 'x'.repeat(43)),
      `/v1/jobs/${second.job_id}/stream?ticket=${other}`,
      `/v1/jobs/${first.job_id}/stream?ticket=${other}`,
    ]) {
      expect(await upgrade(rig(), url)).toEqual([401, 'unauthorized']);
    }
  });

  test('opens a stream even after a restart of the service, unless its credential was ended or replaced', {
    timeout: 180_000,
  }, async () => {
    let before = await Rig.start({ provider: 'subprocess' });
    const { job_id } = await before.run({ language: 'bash', code: 'echo kept' });
    const foreign = await before.run({ language: 'bash', code: 'true' }, before.beta);
    const operator = () => openCredentials({ dataDir: before.dataDir });
    // On a loaded machine, a restart may take longer than a ticket lives. Such a try shows nothing and is repeated.
    for (let turn = 0, isConclusive = false; !isConclusive; turn++) {
      const issue = async () =>
        await (await operator()).create({ tenant: 'alpha', principal: null, scopes: null, expires_at: null });
      const [issued, revoked, rotated] = [await issue(), await issue(), await issue()];
      const good = [await mint(before, job_id), await mint(before, job_id, issued.key)];
      const bad = [
        await mint(before, job_id, revoked.key),
        await mint(before, job_id, rotated.key),
        await mint(before, foreign.job_id, keyOfBeta(turn)),
      ];
      await (await operator()).revoke({ credential_id: revoked.credential_id });
      await (await operator()).rotate({ credential_id: rotated.credential_id, expires_at: null, overlap_seconds: 0 });
      expect(await before.stop('kept')).toEqual([]);

      const keys = `alpha=${before.alpha.key},beta=${keyOfBeta(turn + 1)}`;
      before = await Rig.start({ provider: 'subprocess', 'legacy-keys': keys }, before.dataDir);
      const opened = await Promise.all(good.map(({ stream_url }) => upgrade(before, stream_url)));
      isConclusive = good.every(({ expires_at }) => Date.now() < Date.parse(expires_at));
      expect(opened.every(([status]) => status === 101) || !isConclusive).toBe(true);
      for (const { stream_url } of [...good, ...bad]) {
        expect(await upgrade(before, stream_url)).toEqual([401, 'unauthorized']);
      }
    }
    expect(await before.stop()).toEqual([]);
  });
});

/** The other tenant's legacy key. The operator replaces it at every restart. */
function keyOfBeta(restarts: number): string {
  return `key-of-beta${'-next'.repeat(restarts)}`;
}

function sleeperOf(seconds: number) {
  return { language: 'bash', code: `echo a; sleep ${seconds}; echo b` };
}

describe('a stream', () => {
  test('sends each event once, with the event finished last, even if the program ends while the stream opens', {
    ...loadTimeout,
    tags: ['What-7', 'Stream-1'],
  }, async () => {
    for (let round = 0; round < loadSize({ small: 5, full: 500 }); round++) {
      const { job_id } = await rig().alpha.client.submit({ language: 'bash', code: 'echo a; echo b >&2; echo c' });
      // The first stream opens right after the submission, and each further stream a little later than the one before.
      const streams = await Promise.all(
        Array.from({ length: 8 }, async (_, ordinal) => {
          for (let turn = 0; turn < ordinal; turn++) await rig().request('/v1/whoami');
          return await streamed(rig(), (await mint(rig(), job_id)).stream_url);
        }),
      );
      const stored = (await rig().ended(job_id)).events.map(({ seq, kind }) => ({ seq, kind }));
      for (const { events, code } of streams) {
        expect(code).toBe(STREAM_CLOSE_CODES.finished);
        expect(events.map(({ seq, kind }) => ({ seq, kind }))).toEqual(stored);
      }
    }
  });

  test('sends all events to each of two hundred readers of one job', loadTimeout, async () => {
    const job_id = await begun(rig());
    const opened = Array.from({ length: 200 }, () => streamed(rig(), `/v1/jobs/${job_id}/stream`, rig().alpha.key));
    const streams = Promise.all(opened);
    await rig().alpha.client.cancel(job_id);
    const stored = (await rig().ended(job_id)).events.map(({ seq }) => seq);
    for (const { events, code } of await streams) {
      expect([events.map(({ seq }) => seq), code]).toEqual([stored, STREAM_CLOSE_CODES.finished]);
    }
  });
});
