import type { EventBody, JobEvent } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';
import { chainEvents, GENESIS_HASH } from './chain.ts';
import { type ChainProblem, verifyChain } from './verify-chain.ts';

const timestamp = '2026-01-01T00:00:00.000Z';
const bodies: EventBody[] = [
  { kind: 'cancel_requested', timestamp, data: { principal: 'p' } },
  { kind: 'stdout', timestamp, data: { text: 'one' } },
  { kind: 'stdout', timestamp, data: { text: 'two' } },
  { kind: 'stderr', timestamp, data: { text: 'three', partial: true } },
  { kind: 'artifact', timestamp, data: { path: 'output/a', size_bytes: 1, sha256: 'ab'.repeat(32) } },
];

function chain(job_id: string): JobEvent[] {
  return chainEvents({ job_id, seq: 0, head: GENESIS_HASH }, bodies);
}
const events = chain('job_1');
const head = events.at(-1)?.event_hash as string;
const expected = { job_id: 'job_1', head, count: 5 };

/** The history with one event changed. */
function changed(seq: number, change: Partial<JobEvent>): JobEvent[] {
  return events.map((event) => (event.seq === seq ? { ...event, ...change } : event));
}

describe('verifying a chain (Spec § Events 7)', () => {
  test('accepts an intact chain', () => {
    expect(verifyChain(events, expected)).toEqual({ kind: 'intact', head, count: 5, unverifiable: 0 });
    expect(verifyChain(events)).toMatchObject({ kind: 'intact' });
    expect(verifyChain([])).toEqual({ kind: 'intact', head: GENESIS_HASH, count: 0, unverifiable: 0 });
  });

  test('digests the text that is given for the data, and finds data that was changed together with its text', () => {
    const dataTexts = events.map(({ data }) => canonicalJson(data));
    expect(verifyChain(events, { ...expected, dataTexts })).toMatchObject({ kind: 'intact' });
    const other = changed(3, { data: { text: 'TWO' } });
    const otherTexts = dataTexts.with(2, '{"text":"TWO"}');
    expect(verifyChain(other, { dataTexts: otherTexts })).toEqual({ kind: 'broken', seq: 3, problem: 'digest' });
  });

  test('does not serialize the data again if its text is given', () => {
    const dataTexts = events.map(({ data }) => canonicalJson(data));
    const unreadable = events.map((event) => ({ ...event, data: undefined }));
    expect(verifyChain(unreadable, { ...expected, dataTexts })).toMatchObject({ kind: 'intact' });
    expect(verifyChain(unreadable, expected)).toEqual({ kind: 'broken', seq: 1, problem: 'digest' });
  });

  test('serializes the data itself if the given text is not canonical', () => {
    const dataTexts = events.map(({ data }) => JSON.stringify(data, null, 1));
    expect(verifyChain(events, { ...expected, dataTexts })).toMatchObject({ kind: 'intact' });
  });

  test('ignores an event’s own member that claims to be the text of its data', () => {
    const told = { ...third, data: { text: 'TWO' }, data_json: canonicalJson(third.data) };
    expect(verifyChain(changed(3, told))).toEqual({ kind: 'broken', seq: 3, problem: 'digest' });
  });

  const [first, second, third, fourth, fifth] = events as [JobEvent, JobEvent, JobEvent, JobEvent, JobEvent];
  const mutations: [string, JobEvent[], number, ChainProblem][] = [
    ['an edited payload', changed(3, { data: { text: 'TWO' } }), 3, 'digest'],
    ['an added payload member', changed(3, { data: { text: 'two', partial: true } }), 3, 'digest'],
    ['an edited time', changed(2, { timestamp: '2026-01-01T00:00:00.001Z' }), 2, 'digest'],
    ['an edited kind', changed(2, { kind: 'stderr' }), 2, 'digest'],
    ['an edited sequence number', changed(4, { seq: 9 }), 4, 'sequence'],
    ['an edited job id', changed(4, { job_id: 'job_2' }), 4, 'job'],
    ['an edited link', changed(4, { prev_hash: GENESIS_HASH }), 4, 'link'],
    ['an edited digest', changed(4, { event_hash: GENESIS_HASH }), 4, 'digest'],
    ['a version set back', changed(2, { hash_version: 0 }), 2, 'hash_version'],
    [
      'a version set back with its digests removed',
      changed(2, { hash_version: 0, prev_hash: null, event_hash: null }),
      2,
      'hash_version',
    ],
    ['an unknown version', changed(2, { hash_version: 2 }), 2, 'hash_version'],
    ['a deleted first event', [second, third, fourth, fifth], 1, 'sequence'],
    ['a deleted event', [first, second, fourth, fifth], 3, 'sequence'],
    [
      'a deleted event with the rest renumbered',
      [first, second, { ...fourth, seq: 3 }, { ...fifth, seq: 4 }],
      3,
      'link',
    ],
    ['swapped events', [first, third, second, fourth, fifth], 2, 'sequence'],
    ['a repeated event', [first, second, second, third, fourth, fifth], 3, 'sequence'],
    ['an inserted event', [first, { ...second, data: { text: 'x' } }, ...events.slice(1)], 2, 'digest'],
    ['a cut-off tail', [first, second, third], 4, 'missing'],
    ['no events at all', [], 1, 'missing'],
    [
      'an added event',
      [...events, ...chainEvents({ job_id: 'job_1', seq: 5, head }, bodies.slice(0, 1))],
      6,
      'surplus',
    ],
    [
      'a chain that was rewritten as a whole',
      chainEvents({ job_id: 'job_1', seq: 0, head: GENESIS_HASH }, bodies.toReversed()),
      5,
      'head',
    ],
    ['the intact chain of another job', chain('job_2'), 1, 'job'],
    ['text without a canonical form', changed(3, { data: { text: '\ud800' } }), 3, 'digest'],
  ];
  test.each(mutations)(
    'names the first bad event of %s',
    { tags: ['Events-8', 'CHAIN-02'] },
    (_name, history, seq, problem) => {
      expect(verifyChain(history, expected)).toEqual({ kind: 'broken', seq, problem });
    },
  );

  test('accepts events without hashes before hashed events, and counts them as unverifiable', () => {
    const legacy = {
      job_id: 'job_1',
      timestamp,
      kind: 'stdout',
      data: {},
      hash_version: 0,
      prev_hash: null,
      event_hash: null,
    };
    const hashed = chainEvents({ job_id: 'job_1', seq: 2, head: GENESIS_HASH }, bodies.slice(0, 1));
    const history = [{ ...legacy, seq: 1 }, { ...legacy, seq: 2 }, ...hashed];
    expect(verifyChain(history)).toMatchObject({ kind: 'intact', count: 1, unverifiable: 2 });
    expect(verifyChain([...history, { ...legacy, seq: 4 }])).toEqual({
      kind: 'broken',
      seq: 4,
      problem: 'hash_version',
    });
  });
});
