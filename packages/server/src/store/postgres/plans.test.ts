/** Queries that are run for every job or call read rows in an index's order, whatever statistics the server has. */
import { expect, inject, test, vi } from 'vitest';
import { append } from '../history/events.ts';
import { admit } from '../jobs/admission.ts';
import { takeQueuedJobs } from '../jobs/queue.ts';
import type { BoundQuery } from '../prepared.ts';
import type { JobKey } from '../records/rows.ts';
import { admission, at, choice, EXECUTION, newKey, SPEC } from '../store.fixture.ts';
import { answerToolCall, openToolCalls, toolAnswers } from '../tools/tool-calls.ts';
import { Session } from './connection.ts';
import { dropSchema, newSchema } from './schema.fixture.ts';
import { WritingSession } from './writing-session.ts';

const ABLE = { languages: ['python'], packs: [], isolation: ['none'], memMbMax: 512 };

/** The queries that `work` runs, with their parameters. */
async function queriesOf(session: Session, work: () => Promise<unknown>): Promise<readonly BoundQuery[]> {
  const asked = vi.spyOn(session, 'execute');
  try {
    await work();
    return asked.mock.calls.map(([query]) => query);
  } finally {
    asked.mockRestore();
  }
}

/** The plan as lines of text. */
async function planOf(session: Session, { sql, parameters }: BoundQuery): Promise<string> {
  const asked = { sql: `explain ${sql}`, parameters };
  const { rows } = await session.execute<{ 'QUERY PLAN': string }>(asked);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

/** How many rows the server touches for a query: those that each step of the plan returns, and those that it drops. */
async function rowsTouched(session: Session, { sql, parameters }: BoundQuery): Promise<number> {
  const asked = { sql: `explain (analyze, timing off, format json) ${sql}`, parameters };
  const { rows } = await session.execute<{ 'QUERY PLAN': string }>(asked);
  const text = rows[0]?.['QUERY PLAN'];
  const [{ Plan }] = (typeof text === 'string' ? JSON.parse(text) : text) as [{ readonly Plan: PlanStep }];
  return touched(Plan);
}

interface PlanStep {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly Plans?: readonly PlanStep[];
}

function touched({ Plans = [], ...step }: PlanStep): number {
  const dropped = (step['Rows Removed by Filter'] ?? 0) + (step['Rows Removed by Join Filter'] ?? 0);
  const own = (step['Actual Rows'] + dropped) * step['Actual Loops'];
  return Plans.reduce((sum, below) => sum + touched(below), own);
}

/** Stores a running job that made this many calls, all answered but the last. Returns the number of the last answer. */
async function calledOften(session: Session, key: JobKey, calls: number): Promise<number> {
  const tools = { tools: [{ name: 't' }], answered_by: ['p'], limits: { calls, call_bytes: 99, total_bytes: 9999 } };
  const start = { started_at: at(1), execution: EXECUTION };
  await admit(session.db, admission({ ...key, requested_spec: { ...SPEC, tools }, start }));
  let last = 0;
  for (let call = 1; call <= calls; call++) {
    const data = { call, tool: 't', arguments: {} };
    await append(session.db, { key, events: [{ kind: 'tool_call', timestamp: at(2), data }] });
    if (call === calls) break;
    const seq = last === 0 ? 3 : last + 1;
    const given = { ...key, seq, outcome: { result: 1 }, principal: 'p', at: at(2), isChecked: true };
    const answer = await answerToolCall(session.db, given);
    if (answer.kind !== 'taken') throw new Error(`the answer was not taken: ${answer.kind}`);
    last = answer.answer_seq;
  }
  return last;
}

test.each(['knows nothing of the tables', 'has counted the tables'])(
  'while the server %s, reading a new tool call or answer does not read the earlier ones',
  async (knowledge) => {
    const url = await newSchema(inject('postgresUrl'));
    try {
      await using writing = await WritingSession.open(url, {});
      const session = await writing.current();
      session.begin();
      const key = newKey('acme');
      const last = await calledOften(session, key, 200);
      await session.commit();
      if (knowledge.startsWith('has')) await session.execute({ sql: 'analyze', parameters: [] });
      await using reading = await Session.open(url, {});
      const queries = await queriesOf(reading, async () => {
        expect(await toolAnswers(reading.db, { ...key, after: last - 1 })).toHaveLength(1);
        expect(await openToolCalls(reading.db, { ...key, after: last, principal: 'p' })).toMatchObject({
          last: last + 1,
        });
      });
      expect(queries).toHaveLength(3);
      for (const query of queries)
        expect([query.sql, (await rowsTouched(reading, query)) < 10]).toEqual([query.sql, true]);
    } finally {
      await dropSchema(url);
    }
  },
);

test.each(['knows nothing of the tables', 'has counted the tables'])(
  'while the server %s, choosing jobs neither sorts nor scans a table',
  async (knowledge) => {
    const url = await newSchema(inject('postgresUrl'));
    try {
      await using writing = await WritingSession.open(url, {});
      const session = await writing.current();
      session.begin();
      for (let at = 0; at < 200; at++) await admit(session.db, admission(newKey('acme')));
      await session.commit();
      if (knowledge.startsWith('has')) await session.execute({ sql: 'analyze', parameters: [] });
      const claim = () => takeQueuedJobs(session.db, choice({ exclude: [], limit: 1, abilities: ABLE }));
      const queries = await queriesOf(session, claim);
      const plans: string[] = [];
      for (const query of queries) plans.push(await planOf(session, query));
      expect(plans.filter((plan) => /Sort|Seq Scan|Bitmap|Hash/.test(plan))).toEqual([]);
      expect(plans.filter((plan) => plan.includes('queue_by_time'))).toHaveLength(1);
    } finally {
      await dropSchema(url);
    }
  },
);
