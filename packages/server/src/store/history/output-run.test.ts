import { foldOutput, linkEvents } from '@vouchbox/evidence';
import type { EventBody, OutputRecord, StreamName } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import type { HistoryPart, OutputRun } from '../records/inputs.ts';
import { at } from '../store.fixture.ts';
import { eventsOfRun, isOutputRun, partsOf } from './output-run.ts';
import { eventsOfStoredRun, linkedRun, readRun } from './stored-runs.ts';

function output(kind: StreamName, milliseconds: number, ...records: readonly OutputRecord[]): EventBody[] {
  return records.map((data) => ({ kind, timestamp: at(milliseconds), data }));
}

const lines = (count: number, text = 'a line') =>
  Array.from({ length: count }, (_, line) => ({ text: `${text} ${line}` }));

const recordsOfRun = (run: OutputRun) => [...eventsOfRun(run)].length;

/** Output from both streams in turn, with texts of every kind, and records with and without an end of line. */
const MIXED: readonly EventBody[] = [
  ...output('stdout', 20, ...lines(20), { text: '' }, { text: 'prompt> ', partial: true }),
  ...output('stderr', 20, { text: '"quoted" \\ \u0000\u001b\u2028 é 😀', partial: true }, { text: '\n' }),
  ...output('stdout', 21, ...lines(3, 'é')),
  ...output('stdout', 22, { text: '', partial: true }),
];

function eventsOf(parts: readonly HistoryPart[]): EventBody[] {
  return parts.flatMap((part) => (isOutputRun(part) ? [...eventsOfRun(part)] : [part]));
}

describe('the recorded output of a program', () => {
  test('is packed into runs, which unpack to the same events in the same order', () => {
    const violation: EventBody = { kind: 'violation', timestamp: at(22), data: { type: 'memory', message: 'm' } };
    const events = [...MIXED, violation, ...MIXED];
    const parts = partsOf(events);
    expect(parts.map((part) => (isOutputRun(part) ? recordsOfRun(part) : part.kind))).toEqual([28, 'violation', 28]);
    expect(eventsOf(parts)).toEqual(events);
  });

  test('can be joined from a run into the text that the program wrote', () => {
    const [run] = partsOf(MIXED);
    if (run === undefined || !isOutputRun(run)) throw new Error('the records are in no run');
    for (const stream of ['stdout', 'stderr'] as const) {
      const records = MIXED.flatMap((event) => (event.kind === stream ? [event.data] : []));
      expect(run[stream]).toBe(foldOutput(records));
    }
  });

  test('is not packed if it is short', () => {
    const few = output('stdout', 20, ...lines(15));
    expect(partsOf(few)).toEqual(few);
    expect(partsOf([])).toEqual([]);
  });

  test('is split into several runs if its records exceed 64 KiB', () => {
    const long = output(
      'stdout',
      20,
      ...Array.from({ length: 10 }, () => ({ text: 'x'.repeat(16_384), partial: true as const })),
    );
    const parts = partsOf(long);
    expect(parts.map((part) => isOutputRun(part) && recordsOfRun(part))).toEqual([4, 4, 2]);
    expect(eventsOf(parts)).toEqual(long);
  });
});

test('a stored run gives the same events and digests as its single records', () => {
  const [run] = partsOf(MIXED);
  if (run === undefined || !isOutputRun(run)) throw new Error('the records are in no run');
  const tail = { tenant: 'acme', job_id: 'job_1', seq: 2, head: 'a'.repeat(64) };
  const expected = Array.from(linkEvents(tail, MIXED), ({ event }) => event);
  const { row, tail: next } = linkedRun(tail, run);
  expect(readRun(row)).toEqual(run);
  expect([...eventsOfStoredRun('job_1', row)]).toEqual(expected);
  expect([row.seq, row.last_seq]).toEqual([3, 30]);
  expect(next).toEqual({ ...tail, seq: 30, head: expected.at(-1)?.event_hash });
});
