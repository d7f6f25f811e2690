/**
 * Tool calls and their answers. The events contain the calls and the answers. The rows here tell which calls are open, who may
 * answer, and which answers the program has not been given yet. An answer is stored once, by any node.
 */
import { canonicalJson } from '@vouchbox/evidence';
import type { OpenToolCall, ToolCallRecord, ToolResultRecord } from '@vouchbox/protocol';
import { isTerminal, replayLimitMax } from '@vouchbox/protocol/vocabulary';
import { sql } from 'kysely';
import { textOf } from '../../ground/json-text.ts';
import { hasKey, JOB, same, updateBy } from '../by-column.ts';
import {
  type ChainedJob,
  eventsToFollow,
  extendChain,
  type LinkedEvents,
  storedEvents,
  telling,
} from '../history/events.ts';
import { prepared } from '../prepared.ts';
import type { GivenAnswer, OpenToolCalls, ToolAnswerResult } from '../records/answers.ts';
import type { ToolAnswerInput } from '../records/inputs.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';

const selectAsked = prepared((db, call: JobKey & { seq: number }) =>
  db
    .selectFrom('jobs')
    .leftJoin('job_tools', (join) => join.on(same(JOB, 'job_tools', 'jobs')))
    .leftJoin('tool_calls', (join) => join.on(same(JOB, 'tool_calls', 'jobs')).on('tool_calls.seq', '=', call.seq))
    .leftJoin('events as last', (join) =>
      join
        .onRef('last.tenant', '=', 'jobs.tenant')
        .onRef('last.job_id', '=', 'jobs.job_id')
        .onRef('last.seq', '=', 'jobs.chain_seq'),
    )
    .select(['jobs.tenant', 'jobs.job_id', 'jobs.status', 'jobs.chain_seq', 'jobs.chain_head'])
    .select(['job_tools.answered_by', 'job_tools.call_bytes', 'job_tools.bytes_left'])
    .select((row) => row('job_tools.result_schemas', 'is not', null).as('has_schemas'))
    .select(
      sql<number | null>`(select max(answer_seq) from tool_calls where ${same(JOB, 'tool_calls', 'jobs')})`.as('after'),
    )
    .select(['tool_calls.seq', 'tool_calls.call', 'tool_calls.answer_seq', 'last.timestamp'])
    .where(hasKey('jobs', JOB, call)),
);

const noteAnswer = updateBy('tool_calls', [...JOB, 'seq'], ['answer_seq']);

const takeBytes = prepared((db, row: JobKey & { bytes: number }) =>
  db
    .updateTable('job_tools')
    .set({ bytes_left: sql<number>`bytes_left - ${row.bytes}` })
    .where(hasKey('job_tools', JOB, row)),
);

const selectAnswering = prepared((db, key: JobKey) =>
  db
    .selectFrom('jobs')
    .leftJoin('job_tools', (join) => join.on(same(JOB, 'job_tools', 'jobs')))
    .select(['jobs.status', 'job_tools.answered_by'])
    .where(hasKey('jobs', JOB, key)),
);

const selectSchemas = prepared((db, call: JobKey & { seq: number }) =>
  db
    .selectFrom('job_tools')
    .innerJoin('events', (join) => join.on(same(JOB, 'events', 'job_tools')))
    .select(['job_tools.result_schemas', 'events.data'])
    .where(hasKey('job_tools', JOB, call))
    .where('events.seq', '=', call.seq),
);

/** A column of a call's or an answer's event. A subquery, since a planner could begin a join with all events and calls. */
const ofEvent = <Column extends 'data' | 'timestamp'>(column: Column, seq: 'seq' | 'answer_seq') =>
  sql<string>`(select ${sql.ref(`events.${column}`)} from events
    where ${same(JOB, 'events', 'tool_calls')} and events.seq = ${sql.ref(`tool_calls.${seq}`)})`.as(column);

const selectOpen = prepared((db, asked: JobKey & { after: number }) =>
  db
    .selectFrom('tool_calls')
    .select(['seq', ofEvent('timestamp', 'seq'), ofEvent('data', 'seq')])
    .where(hasKey('tool_calls', JOB, asked))
    .where('tool_calls.answer_seq', 'is', null)
    .where('tool_calls.seq', '>', asked.after)
    .orderBy('tool_calls.seq')
    .limit(sql.lit(replayLimitMax)),
);

const selectAnswers = prepared((db, asked: JobKey & { after: number }) =>
  db
    .selectFrom('tool_calls')
    .select([sql<number>`answer_seq`.as('seq'), 'call', ofEvent('data', 'answer_seq')])
    .where(hasKey('tool_calls', JOB, asked))
    .where('tool_calls.answer_seq', '>', asked.after)
    .orderBy('tool_calls.answer_seq'),
);

/** Stores an answer as an event. A repeated answer changes nothing, nor does an answer that must be checked first. */
export async function answerToolCall(db: StoreDatabase, input: ToolAnswerInput): Promise<ToolAnswerResult> {
  const { outcome } = input;
  const asked = await selectAsked.first(db, input);
  if (asked === null) return { kind: 'not_found' };
  if (asked.answered_by === null) return { kind: 'no_call' };
  if (!mayAnswer(asked.answered_by, input)) return { kind: 'not_allowed' };
  if (asked.seq === null) return { kind: 'no_call' };
  const text = canonicalJson(outcome);
  if (asked.answer_seq !== null) return await takenBefore(db, { ...input, answer_seq: asked.answer_seq }, text);
  if (asked.status !== 'running') return { kind: 'ended' };
  if ('result' in outcome && !input.isChecked && asked.has_schemas) {
    const schema = await resultSchema(db, { ...input, seq: asked.seq });
    if (schema !== null) return { kind: 'unchecked', schema };
  }
  const bytes = Buffer.byteLength(text);
  const bytesMax = Math.min(asked.call_bytes ?? 0, asked.bytes_left ?? 0);
  if (bytes > bytesMax) return { kind: 'too_large', bytesMax };
  const call = { ...input, seq: asked.seq };
  const linked = await extendWithAnswer(db, asked, call, ({ tail }) => {
    noteAnswer.send(db, { ...call, answer_seq: tail.chain_seq });
    takeBytes.send(db, { ...call, bytes });
  });
  const answer_seq = linked.tail.chain_seq;
  // The outcome is parsed from the stored text, as in all other code that gives the program an answer.
  const given = JSON.parse(text) as GivenAnswer['outcome'];
  const answer = { answer_seq, after: asked.after ?? 0, call: asked.call ?? 0, outcome: given };
  const toFollow = eventsToFollow(linked, input.isFollowed ?? false);
  return { kind: 'taken', ...answer, toFollow, tells: telling(input, linked, answer) };
}

async function takenBefore(
  db: StoreDatabase,
  { tenant, job_id, answer_seq }: JobKey & { readonly answer_seq: number },
  text: string,
): Promise<ToolAnswerResult> {
  const [stored] = await storedEvents(db, { tenant, job_id, after: answer_seq - 1, until: answer_seq });
  const isSame = canonicalJson(outcomeOf(stored?.data as ToolResultRecord)) === text;
  return isSame ? { kind: 'same', answer_seq } : { kind: 'conflict' };
}

/** Adds an answer's event. The clock may have been set back, but no event may be earlier than the event before it. */
async function extendWithAnswer(
  db: StoreDatabase,
  job: ChainedJob & { readonly timestamp: string | null },
  input: ToolAnswerInput,
  also: (linked: LinkedEvents) => void,
): Promise<LinkedEvents> {
  const { tenant, job_id, chain_seq } = job;
  // The last event may be in a run of output.
  const after = chain_seq - 1;
  const last = job.timestamp ?? (await storedEvents(db, { tenant, job_id, after, until: chain_seq }))[0]?.timestamp;
  const timestamp = [last ?? '', input.at].toSorted().at(-1) ?? input.at;
  const data = { call_seq: input.seq, ...input.outcome, principal: input.principal };
  return extendChain(db, job, [{ kind: 'tool_result', timestamp, data }], also);
}

function outcomeOf({ result, error }: ToolResultRecord): GivenAnswer['outcome'] {
  return error === undefined ? { result } : { error };
}

/** A job's unanswered calls whose events come after the event `after`, in order. */
export async function openToolCalls(
  db: StoreDatabase,
  input: JobKey & { readonly after: number; readonly principal: string },
): Promise<OpenToolCalls> {
  const job = await selectAnswering.first(db, input);
  if (job === null) return { kind: 'not_found' };
  if (job.answered_by !== null && !mayAnswer(job.answered_by, input)) return { kind: 'not_allowed' };
  const hasEnded = job.answered_by === null || isTerminal(job.status);
  const rows = hasEnded ? [] : await selectOpen.all(db, input);
  const calls = rows.map(({ seq, timestamp, data }): OpenToolCall => {
    const { tool, arguments: given } = JSON.parse(data) as ToolCallRecord;
    return { seq, timestamp, tool, arguments: given };
  });
  return { kind: 'calls', calls: textOf(calls), last: calls.at(-1)?.seq ?? null, hasEnded };
}

/** The schema that a call's result must fit, as JSON; null if there is none. */
async function resultSchema(db: StoreDatabase, call: JobKey & { readonly seq: number }): Promise<string | null> {
  const found = await selectSchemas.first(db, call);
  if (found === null) return null;
  const { tool } = JSON.parse(found.data) as ToolCallRecord;
  const schemas = new Map(Object.entries(JSON.parse(found.result_schemas ?? '{}') as Record<string, unknown>));
  return schemas.has(tool) ? JSON.stringify(schemas.get(tool)) : null;
}

function mayAnswer(answeredBy: string, { principal }: { readonly principal: string }): boolean {
  return (JSON.parse(answeredBy) as string[]).includes(principal);
}

/** Answers whose events come after the event `after`, in order. `call` is the number that the program gave the call. */
export async function toolAnswers(
  db: StoreDatabase,
  input: JobKey & { readonly after: number },
): Promise<readonly GivenAnswer[]> {
  const rows = await selectAnswers.all(db, input);
  return rows.map(({ seq, data, call }, at) => ({
    answer_seq: seq,
    after: rows[at - 1]?.seq ?? input.after,
    call,
    outcome: outcomeOf(JSON.parse(data) as ToolResultRecord),
  }));
}
