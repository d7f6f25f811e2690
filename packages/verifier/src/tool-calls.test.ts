import { Transcript } from '@vouchbox/evidence';
import type { EventBody } from '@vouchbox/protocol';
import { afterAll, describe, expect, test } from 'vitest';
import { attestedJob, exportOf, Scratch } from '../test/attested-job.ts';
import { serviceVerify } from './service-verify.ts';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

const timestamp = '2026-01-01T00:00:01.000Z';
const called = (tool: string, more: object = {}): EventBody => ({
  kind: 'tool_call',
  timestamp,
  data: { call: 0, tool, arguments: {}, ...more },
});
const answered = (call_seq: number, outcome: object): EventBody => ({
  kind: 'tool_result',
  timestamp,
  data: { call_seq, principal: 'alice', ...outcome },
});
const tool_limits = { calls: 1, call_bytes: 1, total_bytes: 1 };
const CALLS = [
  called('search', { arguments: { q: '\u001b[2J\u202e' } }),
  answered(3, { result: ['owl'] }),
  called('x', { refused: 'no' }),
  called('search'),
];

let made = 0;
/** What `service-verify directory` says about a job with these events and this statement about its tools. */
async function verified(bodies: readonly EventBody[], tools: unknown, receipt: object = { tool_limits }) {
  const job = attestedJob({ bodies, receipt, ...(tools !== undefined && { also: { tools } }) });
  const key = scratch.write(`key-${++made}.pem`, job.key.publicKeyPem);
  const directory = scratch.writeAll(`export-${made}`, exportOf(job));
  return await serviceVerify(['directory', directory, '--public-key', key, '--tenant', job.tenant]);
}

function evidenceOf(bodies: readonly EventBody[]) {
  const transcript = new Transcript();
  for (const [at, { kind, data }] of bodies.entries()) transcript.add({ seq: at + 3, kind, data });
  return transcript.evidence();
}

describe('the tool calls in an export', () => {
  test('must follow from the events, and are printed without terminal sequences', {
    tags: ['Tools-13'],
  }, async () => {
    const { exitCode, stdout } = await verified(CALLS, evidenceOf(CALLS));
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^ok {5}tools +2 of search, 1 refused, transcript sha256:[0-9a-f]{64}$/m);
    expect(stdout).toContain('call_3           search {"q":"\\u001b[2J\\u{202e}"}: ["owl"], by alice\n');
    expect(stdout).toContain('call_5           x {}: refused, "no"\n');
    expect(stdout).toContain('call_6           search {}: nobody answered\n');
    expect(['\u001b', '\u202e'].filter((character) => stdout.includes(character))).toEqual([]);
  });

  test.each<[string, readonly EventBody[], unknown]>([
    ['counts more calls', CALLS, { ...evidenceOf(CALLS), calls: { search: 3 } }],
    ['counts fewer refused calls', CALLS, { ...evidenceOf(CALLS), refused: 0 }],
    ['has another transcript', CALLS, evidenceOf(CALLS.slice(0, 1))],
    ['does not mention tools', CALLS, undefined],
    ['counts calls that the events lack', [], evidenceOf(CALLS)],
    ['is true, but a call has two answers', [...CALLS, answered(3, { result: 1 })], evidenceOf(CALLS)],
  ])('are refused if the statement %s', { tags: ['Tools-13'] }, async (_, bodies, tools) => {
    expect(await verified(bodies, tools)).toMatchObject({
      exitCode: 6,
      stderr: expect.stringContaining('service-verify: refused at tools') as unknown,
    });
  });

  test('are not checked if the job had no tools', async () => {
    const { exitCode, stdout } = await verified([], undefined, {});
    expect([exitCode, stdout.includes('tools')]).toEqual([0, false]);
  });

  test('are listed up to a hundred', async () => {
    const many = Array.from({ length: 102 }, () => called('search'));
    const { stdout } = await verified(many, evidenceOf(many));
    expect(stdout).toContain('call_102');
    expect(stdout).not.toContain('call_103');
    expect(stdout).toMatch(/more_calls +2/);
  });
});
