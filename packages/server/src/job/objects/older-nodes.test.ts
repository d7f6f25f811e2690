import { randomBytes } from 'node:crypto';
import { sha256Hex } from '@vouchbox/evidence';
import { expect, inject, test } from 'vitest';
import type { ObjectStore } from '../../objects/object-store.ts';
import { movedBytesMin } from '../../store/objects/content-places.ts';
import { STEPS } from '../../store/postgres/migrations/steps.ts';
import { openPostgresStore } from '../../store/postgres/postgres-store.ts';
import { dropSchema, newSchema } from '../../store/postgres/schema.fixture.ts';
import { Session } from '../../store/postgres/session.ts';
import { finishOf, runJob } from '../../store/store.fixture.ts';
import { POSTGRES_SAME_THREAD } from '../../store/threads.fixture.ts';
import { createLog } from '../../telemetry/log/log.ts';
import { createNudges } from '../nudges.ts';
import { createObjectWork } from './object-work.ts';

/** The version before the one that reads contents from an object store knew five steps of the schema. */
const knewLast = 5;
const registerOlder = `insert into nodes (instance, started_at, lease_until, schema_needs, schema_knows)
  values ('older', now(), now() + interval '1 hour', ${knewLast}, ${knewLast}) returning node`;

function inMemory(): ObjectStore {
  const kept = new Map<string, Uint8Array>();
  return {
    name: 'memory',
    put: async (key, bytes) => void kept.set(key, bytes),
    get: async (key) => kept.get(key) ?? new Uint8Array(),
    size: async (key) => kept.get(key)?.length ?? 0,
    remove: async (key) => void kept.delete(key),
    check: async () => {},
  };
}

test('contents move only once no node is left that could not read them, and none can start again', async () => {
  const url = await newSchema(inject('postgresUrl'));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => dropSchema(url));
  const open = (instance: string, steps = STEPS) =>
    openPostgresStore({ url, check: 'off', onProblem: () => {}, instance, steps, threads: POSTGRES_SAME_THREAD });
  const store = cleanup.use(await open('newer'));
  const session = cleanup.use(await Session.open(url, {}));
  const older = (await session.execute<{ node: number }>({ sql: registerOlder, parameters: [] })).rows[0]?.node;
  const content = new Uint8Array(randomBytes(movedBytesMin));
  const artifacts = [{ path: 'output/a', size_bytes: content.length, sha256: sha256Hex(content), content }];
  await store.finish(finishOf(await runJob(store), { artifacts }));

  const rest = async () => (await store.objectCounts({ bytesMin: movedBytesMin })).to_move;
  const [nudges, logged] = [createNudges(), Promise.withResolvers<unknown>()];
  const log = { ...createLog('silent'), warn: (facts: unknown) => logged.resolve(facts) } as ReturnType<
    typeof createLog
  >;
  const objects = inMemory();
  await using loop = createObjectWork({ store, objects, bytesMin: movedBytesMin, nudges, log });
  loop.start();
  expect(await logged.promise).toEqual({ nodes: [older] });
  expect(await rest()).toBe(1);

  await session.execute({ sql: 'delete from nodes where node = $1', parameters: [older] });
  nudges.send('contents');
  await expect.poll(rest).toBe(0);
  await expect(open('older', STEPS.slice(0, knewLast))).rejects.toMatchObject({ code: 'newer_schema' });
});
