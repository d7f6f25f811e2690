import { canonicalJson } from '@vouchbox/evidence';
import type { OpenToolCall } from '@vouchbox/protocol';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { slowTest, quickTest as test } from '../../../../../test/rig/form.ts';
import { JobRig } from '../../../test/job-rig.ts';
import type { ScriptedCell } from '../../../test/scripted-provider.ts';
import type { ToolOutcome } from '../../sandbox/sandbox.ts';
import type { JobKey } from '../../store/records/rows.ts';
import { admission, SPEC } from '../../store/store.fixture.ts';

let rig: JobRig;
beforeEach(async () => {
  rig = await JobRig.open();
});
afterEach(() => rig[Symbol.asyncDispose]());

const limits = { calls: 256, call_bytes: 1000, total_bytes: 9000 };
const tools = { tools: [{ name: 'search' }], answered_by: ['alice'], limits };

/** A program that calls tools and keeps the answers that it gets. */
class Calling {
  readonly told: [call: number, outcome: ToolOutcome][] = [];
  readonly #cell: ScriptedCell;
  #wake = Promise.withResolvers<void>();

  constructor(cell: ScriptedCell) {
    this.#cell = cell;
    cell.program?.tools?.begin((call, outcome) => {
      this.told.push([call, outcome]);
      this.#wake.resolve();
    });
  }

  call(call: number, tool = 'search'): void {
    this.#cell.program?.tools?.called({ call, tool, arguments: { n: call } });
  }

  /** Resolves once the program has `count` answers. */
  async hears(count: number): Promise<void> {
    while (this.told.length < count) {
      await this.#wake.promise;
      this.#wake = Promise.withResolvers<void>();
    }
  }

  end(): void {
    this.#cell.end({ kind: 'exited', exit_code: 0 });
  }
}

let ordinal = 0;
beforeEach(() => {
  ordinal = 0;
});

async function started(): Promise<{ key: JobKey; program: Calling }> {
  const input = admission({ requested_spec: { ...SPEC, tools } });
  await rig.history.admit(input);
  const cell = await rig.provider.running(ordinal++);
  return { key: { tenant: input.tenant, job_id: input.job_id }, program: new Calling(cell) };
}

/** A job's open calls, once there are `count` of them. */
async function openCalls(key: JobKey, count: number) {
  for (;;) {
    using nudge = rig.nudges.next(`events ${key.job_id}`);
    const found = await rig.store.openToolCalls({ ...key, after: 0, principal: 'alice' });
    const calls = JSON.parse(found.kind === 'calls' ? found.calls : '[]') as OpenToolCall[];
    if (calls.length >= count) return calls;
    await nudge.arrived;
  }
}

const answer = (key: JobKey, seq: number, outcome: ToolOutcome) =>
  rig.history.answerToolCall({ ...key, seq, outcome, principal: 'alice', at: new Date().toISOString() });

describe('a program that calls tools', () => {
  test('gets each answer once, under the number that it gave the call, and the history has all calls and answers', async () => {
    const { key, program } = await started();
    for (const call of [5, 6, 5]) program.call(call);
    const calls = await openCalls(key, 3);
    const [first, second, third] = calls.map(({ seq }) => seq) as [number, number, number];
    await answer(key, third, { result: 'third' });
    await answer(key, first, { error: 'first' });
    await answer(key, first, { error: 'first' });
    await answer(key, second, { result: null });
    await program.hears(3);
    program.end();
    await rig.ended(key);
    expect(program.told).toEqual([
      [5, { result: 'third' }],
      [5, { error: 'first' }],
      [6, { result: null }],
    ]);
    const kinds = (await rig.past(key)).map(([kind]) => kind);
    expect(kinds).toEqual([
      ...['queued', 'started', 'tool_call', 'tool_call', 'tool_call'],
      ...['tool_result', 'tool_result', 'tool_result', 'finished'],
    ]);
  });

  test('at once gets an error for a tool that the submission does not name, and nobody can answer that call', async () => {
    const { key, program } = await started();
    program.call(1, '__proto__');
    await program.hears(1);
    program.end();
    await rig.ended(key);
    const error = 'the submission names no tool of this name';
    expect(program.told).toEqual([[1, { error }]]);
    const [, , called] = await rig.past(key);
    expect(called?.[1]).toEqual({ call: 1, tool: '__proto__', arguments: { n: 1 }, refused: error });
  });

  test('gets no answer after its end, and its receipt stays unchanged', async () => {
    const { key, program } = await started();
    program.call(1);
    const [open] = await openCalls(key, 1);
    program.end();
    const { receipt_sha256 } = await rig.ended(key);
    expect(await answer(key, open?.seq ?? 0, { result: 1 })).toEqual({ kind: 'ended' });
    expect(program.told).toEqual([]);
    expect((await rig.row(key)).receipt_sha256).toBe(receipt_sha256);
  });

  slowTest('never gets the answers of another job', async () => {
    const one = await started();
    const other = await started();
    one.program.call(1);
    other.program.call(1);
    const [ofOne] = await openCalls(one.key, 1);
    const [ofOther] = await openCalls(other.key, 1);
    await answer(other.key, ofOther?.seq ?? 0, { result: 'other' });
    await other.program.hears(1);
    await answer(one.key, ofOne?.seq ?? 0, { result: 'one' });
    await one.program.hears(1);
    expect([one.program.told, other.program.told]).toEqual([[[1, { result: 'one' }]], [[1, { result: 'other' }]]]);
    for (const { key, program } of [one, other]) {
      program.end();
      await rig.ended(key);
    }
  });

  test('makes 200 calls at once in few commits', async () => {
    const { key, program } = await started();
    const before = rig.commits();
    for (let call = 0; call < 200; call++) program.call(call);
    await openCalls(key, 200);
    expect(rig.commits() - before).toBeLessThan(5);
    program.end();
    await rig.ended(key);
  });

  test('leaves its unanswered calls in the history when it ends', async () => {
    const { key, program } = await started();
    program.call(1);
    program.end();
    await rig.ended(key);
    expect((await rig.past(key)).map(([kind]) => kind)).toEqual(['queued', 'started', 'tool_call', 'finished']);
  });
});

test('the stored specification of a job lists its tools', async () => {
  const { key, program } = await started();
  program.end();
  await rig.ended(key);
  expect(canonicalJson((await rig.row(key)).requested_spec.tools)).toBe(canonicalJson(tools));
});
