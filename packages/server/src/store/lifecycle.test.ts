/** Runs random schedules of everything that can happen to a job, and compares the results with those that a model allows. */
import { eventHash, GENESIS_HASH, type LinkedEvent } from '@vouchbox/evidence';
import { isTerminal, type JobEvent, type JobStatus, type TerminalStatus } from '@vouchbox/protocol';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { requestCancel } from './evidence/cancellation.ts';
import { finish } from './evidence/outcomes.ts';
import { counts } from './health.ts';
import { append, events } from './history/events.ts';
import { admit } from './jobs/admission.ts';
import { job, start } from './jobs/jobs.ts';
import type { JobKey, JobRow } from './records/rows.ts';
import { admission, at, emptyStore, finishOf, newKey, startOf, stdout, type TestDatabase } from './store.fixture.ts';

let connection: TestDatabase;
beforeAll(async () => {
  connection = await emptyStore();
});
afterAll(() => connection[Symbol.asyncDispose]());

type Step =
  | { readonly kind: 'start' | 'cancel' | 'recover' }
  | { readonly kind: 'append'; readonly lines: number }
  | { readonly kind: 'finish'; readonly status: TerminalStatus };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.constant<Step>({ kind: 'start' }),
  fc.constant<Step>({ kind: 'cancel' }),
  fc.constant<Step>({ kind: 'recover' }),
  fc.record({ kind: fc.constant('append' as const), lines: fc.nat(3) }),
  fc.record({
    kind: fc.constant('finish' as const),
    status: fc.constantFrom<TerminalStatus>('succeeded', 'failed', 'timed_out', 'oom_killed', 'cancelled', 'error'),
  }),
);

/** The state that a job should have after the steps so far. */
interface Model {
  readonly status: JobStatus;
  readonly lines: number;
  readonly cancelRequested: boolean;
}

/** The answer that the store should give to a step, and the job's state after the step. */
interface Prediction {
  readonly answer: boolean | string;
  readonly after: Model;
}

function predict(model: Model, step: Step): Prediction {
  const { status } = model;
  const terminal = isTerminal(status);
  switch (step.kind) {
    case 'start':
      return { answer: status === 'queued', after: status === 'queued' ? { ...model, status: 'running' } : model };
    case 'append':
      if (status !== 'running') return { answer: false, after: model };
      return { answer: true, after: { ...model, lines: model.lines + step.lines } };
    case 'cancel':
      if (terminal) return { answer: 'already_terminal', after: model };
      if (status === 'running') return { answer: 'running', after: { ...model, cancelRequested: true } };
      return { answer: 'cancelled', after: { ...model, cancelRequested: true, status: 'cancelled' } };
    case 'finish':
      return { answer: !terminal, after: terminal ? model : { ...model, status: step.status } };
    case 'recover':
      return { answer: !terminal, after: terminal ? model : { ...model, status: 'error' } };
    default:
      return step satisfies never;
  }
}

async function perform(key: JobKey, step: Step): Promise<Prediction['answer']> {
  const db = connection.db;
  switch (step.kind) {
    case 'start':
      return await start(db, startOf(key));
    case 'append':
      return (
        await append(db, { key, events: Array.from({ length: step.lines }, (_, line) => stdout(`line ${line}`)) })
      ).isStored;
    case 'cancel':
      return (await requestCancel(db, { ...key, principal: 'p', at: at(15) })).kind;
    case 'finish':
      return (await finish(db, finishOf(key, { status: step.status }))).isStored;
    case 'recover':
      return (
        await finish(
          db,
          finishOf(key, { status: 'error', terminal_reason: 'server_restarted', execution: null, recovery: true }),
        )
      ).isStored;
    default:
      return step satisfies never;
  }
}

function expectChain(history: readonly JobEvent[]): void {
  let previous = GENESIS_HASH;
  for (const [index, event] of history.entries()) {
    expect(event).toMatchObject({ seq: index + 1, prev_hash: previous, hash_version: 1 });
    expect(event.event_hash).toBe(eventHash(event as LinkedEvent));
    previous = event.event_hash ?? '';
  }
}

function expectUnended(row: JobRow, history: readonly JobEvent[]): void {
  expect(row).toMatchObject({ receipt_json: null, receipt_sha256: null, finished_at: null });
  expect(history.some((event) => event.kind === 'finished')).toBe(false);
}

function expectEnded(row: JobRow, history: readonly JobEvent[]): void {
  expect(history.filter((event) => event.kind === 'finished')).toHaveLength(1);
  expect(history.at(-1)).toMatchObject({ kind: 'finished', data: { status: row.status } });
  expect(JSON.parse(row.receipt_json ?? '')).toMatchObject({
    status: row.status,
    event_chain: { count: history.length, head: history.at(-1)?.event_hash, complete: true },
  });
}

async function outboxHas({ tenant, job_id }: JobKey): Promise<boolean> {
  const key = `tenant = '${tenant}' and job_id = '${job_id}'`;
  return (await connection.rows(`select 1 from attestation_outbox where ${key}`)).length > 0;
}

test('a job ends at most once, with one chain and one receipt, in any order of events (CHAIN-07, CHAIN-12)', {
  tags: ['States-1', 'States-1b', 'States-3', 'Events-9', 'CHAIN-07', 'CHAIN-12'],
}, async () => {
  const db = connection.db;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const key = newKey();
      await admit(db, admission(key));
      let model: Model = { status: 'queued', lines: 0, cancelRequested: false };
      for (const next of steps) {
        const { answer, after } = predict(model, next);
        expect(await perform(key, next)).toBe(answer);
        model = after;
      }
      const row = await job(db, key);
      const page = await events(db, { key, after: 0, limit: 1000 });
      if (row === null || page === null) throw new Error('the job is gone');
      expect(row).toMatchObject({ status: model.status, cancellation_requested: model.cancelRequested });
      expect(page.events.filter((event) => event.kind === 'stdout')).toHaveLength(model.lines);
      const requests = page.events.filter((event) => event.kind === 'cancel_requested');
      expect(requests).toHaveLength(model.cancelRequested ? 1 : 0);
      expectChain(page.events);
      (isTerminal(row.status) ? expectEnded : expectUnended)(row, page.events);
      expect(await outboxHas(key)).toBe(isTerminal(model.status));
    }),
    { numRuns: 500, seed: inject('propertySeed') },
  );
});

test('after random steps of many jobs, the counts of queued and running jobs match the stored jobs', async () => {
  const counted = await counts(connection.db);
  const count = async (status: JobStatus) =>
    (await connection.rows(`select count(*) as jobs from jobs where status = '${status}'`))[0]?.['jobs'];
  expect([counted.queued, counted.running]).toEqual([await count('queued'), await count('running')]);
  const queue = await connection.rows('select job_id from queue order by job_id');
  const queued = await connection.rows("select job_id from jobs where status = 'queued' order by job_id");
  expect(queue).toEqual(queued);
  expect(counted.queued + counted.running).toBeGreaterThan(0);
});
