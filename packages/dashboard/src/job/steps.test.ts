import { expect, test } from 'vitest';
import type { StepEvent } from './job-history.ts';
import { openCallsOf, stepsOf } from './steps.ts';

const event = (seq: number, kind: string, data: object) => ({ job_id: 'job_1', seq, kind, data }) as StepEvent;
const call = (seq: number, more: object = {}) => event(seq, 'tool_call', { call: seq, tool: 'search', ...more });
const answer = (seq: number, call_seq: number) => event(seq, 'tool_result', { call_seq, result: seq });

test('an answer belongs to the step of its call, whatever the order in which answers come', () => {
  const steps = stepsOf([call(1), call(2), answer(3, 2), answer(4, 1)]);
  expect(steps.map(({ event: { seq }, answer: given }) => [seq, given?.seq])).toEqual([
    [1, 4],
    [2, 3],
  ]);
});

test('an answer without a call is a separate step', () => {
  expect(stepsOf([answer(3, 2)])).toEqual([{ event: answer(3, 2), answer: null }]);
});

test('a call is open until it is answered, unless the service refused it', () => {
  const steps = stepsOf([call(1), call(2, { refused: 'there is no such tool' }), call(3), answer(4, 1)]);
  expect(openCallsOf(steps).map(({ seq }) => seq)).toEqual([3]);
});
