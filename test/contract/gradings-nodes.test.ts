/** Spec § Gradings: a grading by a service whose nodes share a store, and by a service that is killed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServiceClient, type ServiceClient } from '@vouchbox/client';
import { expect, inject, test } from 'vitest';
import { dropSchema, newSchema } from '../../packages/server/src/store/postgres/schema.fixture.ts';
import { CRASH_KEY, ServiceProcess } from '../crash/service-process.ts';

const SUM = { language: 'python', code: 'print(sum(map(int, input().split())))' };
const WRONG = { language: 'bash', code: 'echo 0' };
const TESTS = Array.from({ length: 8 }, (_, at) => ({ name: `${at}`, stdin: `${at} 1`, expected: `${at + 1}` }));
const BODY = { programs: [SUM, WRONG], tests: TESTS };

interface Node {
  readonly process: ServiceProcess;
  readonly client: ServiceClient;
}

async function started(dataDir: string, environment: Record<string, string> = {}): Promise<Node> {
  const common = { SERVICE_PROVIDER: 'subprocess', SERVICE_CONCURRENCY: '1', ...environment };
  const process = await ServiceProcess.start({ dataDir, environment: common });
  return { process, client: createServiceClient({ baseUrl: process.url, apiKey: CRASH_KEY }) };
}

/** Resolves once this many jobs of the grading have ended. */
async function jobsEnded(client: ServiceClient, id: string, count: number): Promise<void> {
  let seen = 0;
  for await (const { kind } of client.gradingEvents(id)) if (kind === 'job' && ++seen === count) return;
}

/** Expects that every run ended once and by itself, and that both programs have the right verdict. */
async function whole(client: ServiceClient, id: string): Promise<void> {
  const detail = await client.waitForGrading(id);
  expect(detail).toMatchObject({ status: 'finished', runs_ended: 16 });
  expect(detail.graded.map(({ verdict }) => verdict?.points)).toEqual([8, 0]);
  const events = await Array.fromAsync(client.gradingEvents(id));
  const ended = events.filter(({ kind, data }) => kind === 'job' && data.terminal_reason === 'exited');
  const names = ended.map(({ data }) => `${data.program} ${data.name}`);
  expect(new Set(names).size).toBe(18);
  expect(names).toHaveLength(18);
}

test('a grading continues however often its service is killed', { tags: ['Gradings-13'] }, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-gradings-'));
  let node = await started(dataDir);
  const { grading_id } = await node.client.submitGrading(BODY, { idempotencyKey: 'killed' });
  for (const count of [2, 11]) {
    await jobsEnded(node.client, grading_id, count);
    await node.process.kill();
    node = await started(dataDir);
    // Repeats the request, like a client that got no answer.
    expect(await node.client.submitGrading(BODY, { idempotencyKey: 'killed' })).toMatchObject({
      grading_id,
      replayed: true,
    });
  }
  await whole(node.client, grading_id);
  expect(await node.process.stop()).toBe(0);
  rmSync(dataDir, { recursive: true });
});

test('a grading continues on another node when the node that drives it is killed', {
  tags: ['Gradings-13'],
}, async () => {
  const url = await newSchema(inject('postgresUrl'));
  const directories = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'svc-gradings-')));
  const shared = { SERVICE_DATABASE_URL: url, SERVICE_ATTESTATION_MODE: 'off' };
  const oldest = await started(String(directories[0]), shared);
  const other = await started(String(directories[1]), shared);
  const headers = { idempotencyKey: 'once' };
  const sent = await Promise.all(
    [oldest, other, oldest, other].map(({ client }) => client.submitGrading(BODY, headers)),
  );
  const [first] = sent;
  const grading_id = String(first?.grading_id);
  expect(new Set(sent.map((answer) => answer.grading_id)).size).toBe(1);
  await jobsEnded(other.client, grading_id, 4);
  await oldest.process.kill();
  await whole(other.client, grading_id);
  expect(await other.process.stop()).toBe(0);
  for (const directory of directories) rmSync(directory, { recursive: true });
  await dropSchema(url);
});
