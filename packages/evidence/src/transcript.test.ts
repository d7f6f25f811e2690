import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { Transcript } from './transcript.ts';

const call = (seq: number, data: object) => ({
  seq,
  kind: 'tool_call',
  data: { call: seq, tool: 't', arguments: {}, ...data },
});
const answer = (seq: number, call_seq: number, data: object) => ({
  seq,
  kind: 'tool_result',
  data: { call_seq, principal: 'p', ...data },
});

function transcriptOf(...events: Parameters<Transcript['add']>[0][]): Transcript {
  const transcript = new Transcript();
  for (const event of events) expect(transcript.add(event)).toBeNull();
  return transcript;
}

describe('a transcript of tool calls', () => {
  test('lists the calls in their order, whatever the order of the answers', () => {
    const transcript = transcriptOf(
      call(3, { arguments: { b: 1, a: [] } }),
      { seq: 4, kind: 'stdout', data: { text: 'between' } },
      call(5, { tool: 'u', refused: 'no such tool' }),
      call(6, {}),
      call(7, {}),
      answer(8, 6, { error: 'none' }),
      answer(9, 3, { result: null }),
    );
    const text = [
      '{"arguments":{"a":[],"b":1},"result":null,"tool":"t"}',
      '{"arguments":{},"refused":"no such tool","tool":"u"}',
      '{"arguments":{},"error":"none","tool":"t"}',
      '{"arguments":{},"tool":"t"}',
      '',
    ].join('\n');
    expect(transcript.text()).toBe(text);
    const transcriptSha256 = createHash('sha256').update(text).digest('hex');
    expect(transcript.evidence()).toEqual({ calls: { t: 3 }, refused: 1, transcriptSha256 });
  });

  test('is the same for two runs with the same calls and answers', () => {
    const one = transcriptOf(call(3, { call: 0 }), answer(4, 3, { result: 1 }));
    const other = transcriptOf(call(30, { call: 7 }), answer(40, 30, { result: 1, principal: 'q' }));
    expect(other.evidence()).toEqual(one.evidence());
  });

  test('counts calls of tools with any name, even `__proto__`', () => {
    const { calls } = transcriptOf(call(3, { tool: '__proto__' }), call(4, { tool: 'constructor' })).evidence();
    expect(Object.entries(calls)).toEqual([
      ['__proto__', 1],
      ['constructor', 1],
    ]);
  });

  test.each([
    ['an event without members', { seq: 4, kind: 'tool_call', data: [] }],
    ['a call without a tool', call(4, { tool: 1 })],
    ['an answer to nothing', answer(4, 2, { result: 1 })],
    ['an answer to a later call', answer(4, 5, { result: 1 })],
    ['an answer to the prototype', answer(4, '__proto__' as unknown as number, { result: 1 })],
    ['an answer to a call that was refused', answer(4, 2.5, { result: 1 })],
    ['an answer without a result or an error', answer(4, 3, {})],
    ['both a result and an error', answer(4, 3, { result: 1, error: 'e' })],
    ['an error that is no text', answer(4, 3, { error: 1 })],
  ])('refuses an event: %s', (_, event) => {
    const transcript = transcriptOf(call(2.5, { refused: 'no' }), call(3, {}));
    expect(transcript.add(event)).toMatch(/^event 4 /);
  });

  test('refuses a second answer to a call', () => {
    const transcript = transcriptOf(call(3, {}), answer(4, 3, { result: 1 }));
    expect(transcript.add(answer(5, 3, { result: 1 }))).toBe('event 5 answers a call that has an answer');
  });
});
