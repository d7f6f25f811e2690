/** Spec § GET /v1/jobs/{id}/result, § Errors: what a stopping service still answers, and what it leaves for its next start. */
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { STREAM_CLOSE_CODES } from '@vouchbox/protocol';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { rawAnswers } from '../rig/raw-http.ts';
import { type Answer, Rig } from '../rig/rig.ts';
import { loadSize, loadTimeout } from './load-size.ts';

const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } };

function expectShuttingDown({ status, json, headers }: Answer): void {
  expect([status, json.error.code, json.error.retryable]).toEqual([503, 'shutting_down', true]);
  expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  // The connection is closed, so the client connects again, and reaches the service that then runs.
  expect(headers.get('connection')).toBe('close');
}

/** Opens a job's stream and waits for the first event. Returns the kinds of the stream's events, and its close code. */
async function openStream(rig: Rig, job_id: string) {
  const { url } = rig.service;
  const headers = { authorization: `Bearer ${rig.alpha.key}` };
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/jobs/${job_id}/stream`, { headers });
  const kinds: string[] = [];
  socket.on('message', (data: Buffer) => kinds.push((JSON.parse(data.toString()) as { kind: string }).kind));
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  await once(socket, 'message');
  return { kinds, closed };
}

/** A submission whose body is incomplete. */
async function halfSubmitted(rig: Rig): Promise<{ socket: Socket; rest: string }> {
  const body = JSON.stringify({ language: 'bash', code: 'true' });
  const socket = connect(rig.port, '127.0.0.1');
  socket.write(
    `POST /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${rig.alpha.key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
  );
  // When the service answers 100, it has begun to read the body.
  await once(socket, 'data');
  return { socket, rest: body };
}

const LOAD = {
  running: loadSize({ small: 3, full: 20 }),
  queued: loadSize({ small: 5, full: 50 }),
  waits: loadSize({ small: 6, full: 30 }),
  streams: loadSize({ small: 6, full: 20 }),
};

async function submitted({ alpha }: Rig, count: number): Promise<string[]> {
  const submission = { ...sleeper, limits: { ...sleeper.limits, mem_mb: 16 } };
  return await Promise.all(Array.from({ length: count }, async () => (await alpha.client.submit(submission)).job_id));
}

/** Begins this many jobs, and resolves once all of them run. */
async function begun(rig: Rig, count: number): Promise<string[]> {
  const jobs = await submitted(rig, count);
  for (const job_id of jobs) {
    for await (const { kind } of rig.alpha.client.follow(job_id)) if (kind === 'stdout') break;
  }
  return jobs;
}

test('RST-01: a service that stops under load refuses new jobs, answers all waits, ends all jobs, and loses none', {
  ...loadTimeout,
  tags: ['GetResult-5', 'Errors-19', 'RST-01'],
}, async () => {
  const settings = {
    'drain-seconds': '600',
    'waits-max': '40',
    'tenant-waits-max': '40',
    'tenant-streams-max': '40',
  };
  const rig = await Rig.start({ ...settings, concurrency: String(LOAD.running) });
  const { client } = rig.alpha;
  const running = await begun(rig, LOAD.running);
  const queued = await submitted(rig, LOAD.queued);
  const [job_id = ''] = running;
  const all = [...running, ...queued];
  const streams = await Promise.all(
    Array.from({ length: LOAD.streams }, (_, index) => openStream(rig, all[index % all.length] ?? '')),
  );
  const wait = (id: string) => rig.request(`/v1/jobs/${id}/result?wait_seconds=60`);
  const waits = Array.from({ length: LOAD.waits }, (_, index) => wait(all[index % all.length] ?? ''));
  const half = await halfSubmitted(rig);
  await rig.request('/v1/whoami');

  const stopped = rig.stop('kept');
  half.socket.write(half.rest);
  const [, answer] = rawAnswers(Buffer.from(`HTTP/1.1 100 Continue\r\n\r\n${await text(half.socket)}`));
  expect([answer?.status, JSON.parse(answer?.body ?? '').error.code]).toEqual([503, 'shutting_down']);
  for (const refused of [
    await rig.post(sleeper),
    await rig.request(`/v1/jobs/${job_id}/stream-ticket`, { method: 'POST' }),
    await wait(job_id),
    ...(await Promise.all(waits)),
  ]) {
    expectShuttingDown(refused);
    expect(refused.json).not.toHaveProperty('stdout');
  }
  for (const { kinds, closed } of streams) {
    expect(await closed).toBe(STREAM_CLOSE_CODES.restarting);
    expect(kinds).not.toContain('finished');
  }
  // Only the programs still run. The stopping service would wait for their end, so the test cancels their jobs.
  for (const id of running) await client.cancel(id);
  expect(await stopped).toEqual([]);

  const next = await Rig.start({ provider: 'subprocess', concurrency: '1' }, rig.dataDir);
  expect(await next.jobCount()).toBe(all.length);
  for (const id of queued) await next.alpha.client.cancel(id);
  for (const id of all) expect((await next.ended(id)).detail.status).toBe('cancelled');
  expect(await next.stop()).toEqual([]);
});

test('jobs that run longer than the drain time are ended, and queued jobs run after the next start', {
  ...loadTimeout,
  tags: ['States-2a'],
}, async () => {
  const first = await Rig.start({ 'drain-seconds': '0.2', concurrency: String(LOAD.running) });
  const running = await begun(first, LOAD.running);
  const { job_id } = await first.alpha.client.submit({ language: 'bash', code: 'echo later' });
  // A second stop changes nothing.
  const stopped = first.service.stop();
  expect(await first.stop('kept')).toEqual([]);
  await stopped;

  const second = await Rig.start({ provider: 'subprocess' }, first.dataDir);
  for (const id of running) {
    const { detail, events } = await second.ended(id);
    expect(detail).toMatchObject({ status: 'error', terminal_reason: 'server_shutdown', exit_code: null });
    // The service keeps the posture that it observed while the job ran.
    expect(detail.effective_spec?.isolation_class).toBe('linux-shared-kernel');
    expect(detail.receipt?.event_chain).toMatchObject({ complete: true, count: events.length });
    expect(events.map(({ kind }) => kind)).toEqual(['queued', 'started', 'stdout', 'finished']);
  }
  expect((await second.ended(job_id)).result).toMatchObject({ status: 'succeeded', stdout: 'later\n' });
  expect(await second.stop()).toEqual([]);
});

test('a job that ends within the drain time is recorded with its real end', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-shutdown-'));
  onTestFinished(() => rmSync(scratch, { recursive: true }));
  // The program runs as another user and needs access to this directory.
  chmodSync(scratch, 0o755);
  const first = await Rig.start({ provider: 'subprocess', 'drain-seconds': '60' });
  const { client } = first.alpha;
  const code = `echo started; until [ -e ${scratch}/go ]; do sleep 0.05; done; echo done; exit 3`;
  const { job_id } = await client.submit({ language: 'bash', code });
  for await (const { kind } of client.follow(job_id)) if (kind === 'stdout') break;
  const stopped = first.stop('kept');
  // Until the service has stopped, stored results can be read.
  expect((await client.detail(job_id)).status).toBe('running');
  writeFileSync(join(scratch, 'go'), '');
  expect(await stopped).toEqual([]);
  const second = await Rig.start({ provider: 'subprocess' }, first.dataDir);
  const { result, detail } = await second.ended(job_id);
  expect(result).toMatchObject({ status: 'failed', exit_code: 3, stdout: 'started\ndone\n' });
  expect(detail.terminal_reason).toBe('exited');
  expect(await second.stop()).toEqual([]);
});
