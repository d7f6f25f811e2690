import type { OpenToolCall } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JobKey } from '../records/rows.ts';
import { at, finishOf, runJob, SPEC, stdout, TestStore } from '../store.fixture.ts';
import type { Store } from '../store.ts';

let testStore: TestStore;
beforeAll(async () => {
  testStore = await TestStore.open();
});
afterAll(() => testStore[Symbol.asyncDispose]());

const limits = { calls: 256, call_bytes: 100, total_bytes: 150 };
const tools = { tools: [{ name: 'search' }], answered_by: ['alice', 'helper'], limits };

/** A running job whose program made these calls. They are events 3, 4 and so on. */
async function calling(store: Store, calls: readonly number[], changes: { readonly refused?: string } = {}) {
  const key = await runJob(store, { requested_spec: { ...SPEC, tools } });
  const data = calls.map((call) => ({ call, tool: 'search', arguments: { query: `n${call}` }, ...changes }));
  await store.append(
    key,
    data.map((each) => ({ kind: 'tool_call' as const, timestamp: at(20), data: each })),
  );
  return key;
}

const answerOf = (key: JobKey, seq: number, changes: object = {}) => ({
  ...key,
  seq,
  outcome: { result: { found: seq } },
  principal: 'alice',
  at: at(25),
  ...changes,
});

/** The open calls, as shown to a principal that may answer. */
async function openCalls(store: Store, key: JobKey, after = 0): Promise<OpenToolCall[]> {
  const found = await store.openToolCalls({ ...key, after, principal: 'alice' });
  return JSON.parse(found.kind === 'calls' ? found.calls : '[]') as OpenToolCall[];
}

async function eventsOf(store: Store, key: JobKey) {
  return (await store.events({ key, after: 2, limit: 100 }))?.events ?? [];
}

describe('a call of a tool', () => {
  test('is open until it is answered, and the answer is stored as an event', { tags: ['Events-4i'] }, async () => {
    const { store } = testStore;
    const key = await calling(store, [7, 7]);
    expect(await openCalls(store, key)).toEqual([
      { seq: 3, timestamp: at(20), tool: 'search', arguments: { query: 'n7' } },
      { seq: 4, timestamp: at(20), tool: 'search', arguments: { query: 'n7' } },
    ]);
    expect(await store.answerToolCall(answerOf(key, 4))).toEqual({
      kind: 'taken',
      answer_seq: 5,
      call: 7,
      outcome: { result: { found: 4 } },
      after: 0,
      toFollow: null,
      tells: [],
    });
    expect((await openCalls(store, key)).map(({ seq }) => seq)).toEqual([3]);
    expect(await openCalls(store, key, 3)).toEqual([]);
    expect((await eventsOf(store, key)).map(({ kind, data }) => ({ kind, data }))).toEqual([
      { kind: 'tool_call', data: { call: 7, tool: 'search', arguments: { query: 'n7' } } },
      { kind: 'tool_call', data: { call: 7, tool: 'search', arguments: { query: 'n7' } } },
      { kind: 'tool_result', data: { call_seq: 4, result: { found: 4 }, principal: 'alice' } },
    ]);
  });

  test('has one answer: repeating the answer succeeds, and a different answer is a conflict', {
    tags: ['Events-4i'],
  }, async () => {
    const { store } = testStore;
    const key = await calling(store, [1]);
    await store.answerToolCall(answerOf(key, 3));
    expect(await store.answerToolCall(answerOf(key, 3, { principal: 'helper' }))).toEqual({
      kind: 'same',
      answer_seq: 4,
    });
    expect(await store.answerToolCall(answerOf(key, 3, { outcome: { error: 'none' } }))).toEqual({ kind: 'conflict' });
    expect((await eventsOf(store, key)).length).toBe(2);
  });

  test('is answered once, even if many answer at the same time', async () => {
    const { store } = testStore;
    const key = await calling(store, [1]);
    const answers = Array.from({ length: 20 }, (_, at) => answerOf(key, 3, { outcome: { result: at } }));
    const kinds = (await Promise.all(answers.map((answer) => store.answerToolCall(answer)))).map(({ kind }) => kind);
    expect(kinds.toSorted()).toEqual([...Array<string>(19).fill('conflict'), 'taken']);
  });

  test('that the service refused is stored in the history, and nobody can answer it', async () => {
    const { store } = testStore;
    const key = await calling(store, [1], { refused: 'there is no such tool' });
    expect(await openCalls(store, key)).toEqual([]);
    expect(await store.answerToolCall(answerOf(key, 3))).toEqual({ kind: 'no_call' });
  });
});

describe('an answer to a tool call', () => {
  test.each([
    ['of somebody whom the submission does not name', { principal: 'mallory' }, 'not_allowed'],
    ['to an event that is no call', { seq: 2 }, 'no_call'],
    ['to a call that was not made', { seq: 99 }, 'no_call'],
    ['to a job of another tenant', { tenant: 'other' }, 'not_found'],
    ['to a job that does not exist', { job_id: 'job_none' }, 'not_found'],
    ['of one byte more than an answer may have', { outcome: { result: 'x'.repeat(88) } }, 'too_large'],
  ])('%s is refused', async (_, changes, kind) => {
    const { store } = testStore;
    const key = await calling(store, [1]);
    expect(await store.answerToolCall(answerOf(key, 3, changes))).toMatchObject({ kind });
    expect((await eventsOf(store, key)).length).toBe(1);
  });

  test('may use as many bytes as are allowed for one call and for all calls', async () => {
    const { store } = testStore;
    const key = await calling(store, [1, 2, 3]);
    const ofBytes = (seq: number, bytes: number) => answerOf(key, seq, { outcome: { result: 'x'.repeat(bytes - 13) } });
    expect(await store.answerToolCall(ofBytes(3, 100))).toMatchObject({ kind: 'taken' });
    expect(await store.answerToolCall(ofBytes(4, 51))).toEqual({ kind: 'too_large', bytesMax: 50 });
    expect(await store.answerToolCall(ofBytes(4, 50))).toMatchObject({ kind: 'taken' });
    expect(await store.answerToolCall(ofBytes(5, 14))).toEqual({ kind: 'too_large', bytesMax: 0 });
  });

  test('is refused for a job without tools, because the job has no such call', async () => {
    const { store } = testStore;
    const key = await runJob(store);
    expect(await store.answerToolCall(answerOf(key, 2))).toEqual({ kind: 'no_call' });
  });

  test('that comes after the end of the job is refused, and the receipt stays unchanged', async () => {
    const { store } = testStore;
    const key = await calling(store, [1]);
    await store.finish(finishOf(key));
    const before = (await store.job(key))?.receipt_sha256;
    expect(await store.answerToolCall(answerOf(key, 3))).toEqual({ kind: 'ended' });
    expect((await store.job(key))?.receipt_sha256).toBe(before);
    expect((await eventsOf(store, key)).map(({ kind }) => kind)).toEqual(['tool_call', 'finished']);
  });

  test('never has an earlier time than the event before it, even if the clock was set back', async () => {
    const { store } = testStore;
    const key = await calling(store, [1]);
    await store.answerToolCall(answerOf(key, 3, { at: at(-86_400_000) }));
    expect((await eventsOf(store, key)).map(({ timestamp }) => timestamp)).toEqual([at(20), at(20)]);
  });

  test('keeps members with any name, and terminal sequences, unchanged', async () => {
    const { store } = testStore;
    const key = await calling(store, [1]);
    const result = JSON.parse('{"__proto__":{"a":1},"constructor":"\\u001b[2J","z":"\\u2028"}') as unknown;
    await store.answerToolCall(answerOf(key, 3, { outcome: { result } }));
    const [given] = await store.toolAnswers({ ...key, after: 0 });
    expect(JSON.stringify(given?.outcome)).toBe(JSON.stringify({ result }));
  });
});

test('accepted answers are returned in order, with the number that the program gave the call', async () => {
  const { store } = testStore;
  const key = await calling(store, [10, 11, 12]);
  await store.answerToolCall(answerOf(key, 5, { outcome: { error: 'no' } }));
  await store.append(key, [stdout('between')]);
  await store.answerToolCall(answerOf(key, 3, { outcome: { result: null } }));
  expect(await store.toolAnswers({ ...key, after: 0 })).toEqual([
    { answer_seq: 6, after: 0, call: 12, outcome: { error: 'no' } },
    { answer_seq: 8, after: 6, call: 10, outcome: { result: null } },
  ]);
  expect(await store.toolAnswers({ ...key, after: 6 })).toMatchObject([{ answer_seq: 8 }]);
  expect(await store.toolAnswers({ ...key, tenant: 'other', after: 0 })).toEqual([]);
});

describe('the open calls of a job', () => {
  test('are shown only to principals that may answer, and to nobody once the job has ended', async () => {
    const { store } = testStore;
    const key = await calling(store, [1]);
    const asked = { ...key, after: 0, principal: 'helper' };
    expect(await store.openToolCalls(asked)).toMatchObject({ kind: 'calls', last: 3, hasEnded: false });
    expect(await store.openToolCalls({ ...asked, principal: 'mallory' })).toEqual({ kind: 'not_allowed' });
    expect(await store.openToolCalls({ ...asked, tenant: 'other' })).toEqual({ kind: 'not_found' });
    await store.finish(finishOf(key));
    const ended = { kind: 'calls', calls: '[]', last: null, hasEnded: true };
    expect(await store.openToolCalls(asked)).toEqual(ended);
    expect(await store.openToolCalls({ ...asked, ...(await runJob(store)) })).toEqual(ended);
  });

  test("are answered only after the result has been checked against the tool's schema", async () => {
    const { store } = testStore;
    const result = { type: 'object' };
    const schemas = { ...tools, tools: [{ name: 'search', result }, { name: 'constructor' }] };
    const key = await runJob(store, { requested_spec: { ...SPEC, tools: schemas } });
    const calls = ['search', 'constructor', 'toString'].map((tool, call) => ({ call, tool, arguments: {} }));
    await store.append(
      key,
      calls.map((data) => ({ kind: 'tool_call' as const, timestamp: at(20), data })),
    );
    const answered = (seq: number, changes = {}) => store.answerToolCall(answerOf(key, seq, changes));
    expect(await answered(3, { principal: 'mallory' })).toEqual({ kind: 'not_allowed' });
    expect(await answered(3)).toEqual({ kind: 'unchecked', schema: '{"type":"object"}' });
    expect(await answered(3, { isChecked: true })).toMatchObject({ kind: 'taken' });
    expect(await answered(3)).toMatchObject({ kind: 'same' });
    expect(await Promise.all([4, 5].map((seq) => answered(seq)))).toMatchObject([{ kind: 'taken' }, { kind: 'taken' }]);
  });
});
