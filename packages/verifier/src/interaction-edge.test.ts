/** Compares the two ends of an edge between jobs whose programs talked. `test/contract` tries whole exports. */
import { sha256Hex } from '@vouchbox/evidence';
import { describe, expect, test } from 'vitest';
import { compareInteraction, type InteractionEnd } from './interaction-edge.ts';

const TEXT = 'one\ntwo\nthree';
const EVENTS = ['{"data":{"text":"one"},"kind":"stdout"}', '{"data":{"text":"no"},"kind":"stderr"}'].concat(
  '{"data":{"text":"two"},"kind":"stdout"}',
  '{"data":{"partial":true,"text":"three"},"kind":"stdout"}\n',
);

function end(job_id: string, peer: string, role: string, more: Readonly<Record<string, unknown>> = {}): InteractionEnd {
  const stdout = { bytes_seen: TEXT.length, raw_sha256: sha256Hex(TEXT) };
  return { job_id, receipt: { interaction: { peer, role, ...more }, executor_output: { stdout } } as never };
}

const WRITER = end('job_b', 'job_a', 'interactor');
const given = (text: string) => ({ stdin: { bytes_delivered: text.length, raw_sha256: sha256Hex(text) } });
const reader = (more: object) => end('job_a', 'job_b', 'program', more as Record<string, unknown>);
const files = new Map([['events.ndjson', new TextEncoder().encode(EVENTS.join('\n'))]]);
const compare = (one: InteractionEnd, other = WRITER, read = async () => files) => compareInteraction(one, other, read);

describe('the input that a program got from its peer', { tags: ['Interaction-8'] }, () => {
  test.each([
    ['all output of the peer', TEXT],
    ['the beginning of the peer’s output', TEXT.slice(0, 5)],
    ['empty', ''],
  ])('may be %s', async (_, text) => {
    expect(await compare(reader(given(text)))).toEqual({ sha256: sha256Hex(text), problem: null });
  });

  test.each([
    ['another text of the same length', given('One\ntwo\nthree')],
    ['a part that is not the beginning', given('two')],
    ['more than the whole output', given(`${TEXT}!`)],
  ])('is refused if it is %s', async (_, more) => {
    const { sha256, problem } = await compare(reader(more));
    expect([sha256, problem]).toEqual([null, expect.stringMatching(/given, and job_b wrote/)]);
  });

  test('is refused if the peer’s job names another peer, or has the same role', async () => {
    const problem = expect.stringContaining('does not say that its program talked to this one');
    for (const other of [end('job_b', 'job_c', 'interactor'), end('job_b', 'job_a', 'program')])
      expect(await compare(reader(given(TEXT)), other)).toEqual({ sha256: null, problem });
  });

  test('is compared only by length if the peer’s record has only a part of the output', async () => {
    const cut = async () => new Map([['events.ndjson', new TextEncoder().encode(`${EVENTS[0]}\n`)]]);
    const part = given('one');
    expect(await compare(reader(part), WRITER, cut)).toEqual({ sha256: part.stdin.raw_sha256, problem: null });
    expect((await compare(reader(given(`${TEXT}!`)), WRITER, cut)).problem).not.toBeNull();
  });

  test('may be missing if the program did not run', async () => {
    expect(await compare(reader({}))).toEqual({ sha256: null, problem: null });
  });
});
