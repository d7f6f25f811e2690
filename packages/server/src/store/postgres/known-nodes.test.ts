/** What a node knows about many others. The test plants their rows. */
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { POSTGRES_SAME_THREAD } from '../threads.fixture.ts';
import { Session } from './connection.ts';
import {
  KnownNodes,
  type LeaseRow,
  type NodeRow,
  oldestOpen,
  removeNodes,
  selectChanges,
  selectNextLeases,
  storeFacts,
} from './known-nodes.ts';
import { openPostgresStore } from './open.ts';
import { dropSchema, newSchema } from './schema.fixture.ts';

let url: string;
let session: Session;
beforeEach(async () => {
  url = await newSchema(inject('postgresUrl'));
  const store = await openPostgresStore({ url, check: 'off', onProblem: () => {}, threads: POSTGRES_SAME_THREAD });
  await store[Symbol.asyncDispose]();
  session = await Session.open(url, {});
  await asked(`insert into nodes (node, instance, started_at, lease_until, schema_needs, schema_knows)
    select at, '', now(), now() + interval '1 h', 0, 0 from generate_series(101, 140) as at`);
});
afterEach(async () => {
  await session[Symbol.asyncDispose]();
  await dropSchema(url);
});

async function asked<Row>(sql: string, parameters: readonly unknown[] = []): Promise<readonly Row[]> {
  return (await session.execute<Row & object>({ sql, parameters })).rows;
}

/** Reads as a beat does, and returns how many rows were read. */
async function beat(known: KnownNodes): Promise<number> {
  const [state] = await asked<{ seen: number }>(`select ${oldestOpen} as seen`);
  const rows = await asked<NodeRow>(selectChanges, known.asked());
  known.learn(rows, state?.seen ?? 0);
  return rows.length;
}

const numbers = (known: KnownNodes) => known.all.map(({ node }) => node);

test('each heartbeat of a node reads the nodes that changed, the nodes that left, and a few others in turn', async () => {
  const known = new KnownNodes(101);
  await beat(known);
  expect(known.all).toHaveLength(40);
  expect(await beat(known)).toBeLessThan(10);
  await asked(storeFacts, [135, JSON.stringify({ version: 'new', executor: null })]);
  await asked(removeNodes('node = $1'), [136]);
  expect(await beat(known)).toBeLessThan(12);
  expect(known.all.find(({ node }) => node === 135)?.facts?.version).toBe('new');
  expect(numbers(known)).not.toContain(136);
});

test('a change that began before another change and is committed after it is still read', async () => {
  const known = new KnownNodes(101);
  await beat(known);
  await using late = await Session.open(url, {});
  late.begin();
  await late.execute({ sql: storeFacts, parameters: [139, JSON.stringify({ version: 'late', executor: null })] });
  await asked(storeFacts, [140, JSON.stringify({ version: 'early', executor: null })]);
  await beat(known);
  await late.commit();
  await beat(known);
  expect(known.all.slice(-2).map(({ facts }) => facts?.version)).toEqual(['late', 'early']);
});

test('nodes of older versions, which announce no change, are noticed because nodes are read in turn', async () => {
  const known = new KnownNodes(101);
  await beat(known);
  await asked('delete from nodes where node = 120');
  await asked(`insert into nodes (node, instance, started_at, lease_until, schema_needs, schema_knows)
    values (200, '', now(), now() + interval '1 h', 0, 0)`);
  for (let turn = 0; turn < 6; turn++) await beat(known);
  expect(numbers(known)).not.toContain(120);
  expect(numbers(known)).toContain(200);
});

test('each node watches the nodes with the next numbers, and the last nodes watch the first', async () => {
  const watchedBy = async (node: number) =>
    (await asked<LeaseRow>(selectNextLeases, [node])).map(({ node: next }) => next);
  expect(await watchedBy(120)).toEqual(expect.arrayContaining([121, 122, 123, 124]));
  expect(await watchedBy(140)).toEqual(expect.arrayContaining([101, 102, 103, 104]));
});
