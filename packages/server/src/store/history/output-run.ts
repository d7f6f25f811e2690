/**
 * Runs: output records that arrive together, joined into one value. A program that writes a mebibyte writes thousands of lines.
 * As separate values, each line would be cloned on its way to the writer's thread, and have its own row in the store. In a run,
 * each record is still a separate event with its number, time and digest; only transport and storage are shared.
 */
import type { StreamTexts } from '@vouchbox/evidence';
import type { EventBody, StreamName } from '@vouchbox/protocol';
import { outputText } from '@vouchbox/protocol/vocabulary';
import type { HistoryPart, OutputRun } from '../records/inputs.ts';

export const STREAMS = ['stdout', 'stderr'] as const satisfies readonly StreamName[];

type OutputBody = Extract<EventBody, { kind: StreamName }>;

/** A run has at least this many records or characters. Less output stays separate events. */
const runRecordsMin = 16;
const runCharsMin = 8 * 1024;
/** A run ends with the record that brings it to this many characters, since a run is compressed and read as a whole. */
const runCharsMax = 64 * 1024;

export function isOutputRun(part: HistoryPart): part is OutputRun {
  return 'groups' in part;
}

/** Joins output into runs if that saves work, and keeps the order of events. */
export function partsOf(events: readonly EventBody[]): readonly HistoryPart[] {
  const parts: HistoryPart[] = [];
  let output: OutputBody[] = [];
  let chars = 0;
  const endRun = () => {
    if (output.length >= runRecordsMin || chars >= runCharsMin) parts.push(runOf(output));
    else parts.push(...output);
    output = [];
    chars = 0;
  };
  for (const event of events) {
    if (!isOutput(event)) {
      endRun();
      parts.push(event);
      continue;
    }
    output.push(event);
    chars += event.data.text.length;
    if (chars >= runCharsMax) endRun();
  }
  endRun();
  return parts;
}

/** The records of a run as events. The members of their data are in canonical order. */
export function* eventsOfRun(run: OutputRun): Generator<OutputBody> {
  const ends: Record<StreamName, number> = { stdout: 0, stderr: 0 };
  for (const [kind, timestamp, lengths] of run.groups) {
    for (const length of lengths) {
      const partial = length < 0;
      const end = ends[kind] + (partial ? ~length : length);
      const text = run[kind].slice(ends[kind], end);
      ends[kind] = partial ? end : end + 1;
      yield { kind, timestamp, data: partial ? { partial, text } : { text } };
    }
  }
}

/** The texts of a stream's records. If a newline followed each record, the texts are returned as one text, joined by LF. */
export function textsOfRun(run: OutputRun, stream: StreamName): StreamTexts {
  const lengths = run.groups.flatMap(([kind, , ofGroup]) => (kind === stream ? ofGroup : []));
  const records = lengths.length;
  if (records === 0) return { texts: [], records };
  if (lengths.every((length) => length >= 0)) return { texts: [run[stream].slice(0, -1)], records };
  const texts: string[] = [];
  for (const { kind, data } of eventsOfRun(run)) if (kind === stream) texts.push(data.text);
  return { texts, records };
}

function isOutput(event: EventBody): event is OutputBody {
  return event.kind === 'stdout' || event.kind === 'stderr';
}

function runOf(output: readonly OutputBody[]): OutputRun {
  const texts: Record<StreamName, string> = { stdout: '', stderr: '' };
  const groups: [StreamName, string, number[]][] = [];
  for (const { kind, timestamp, data } of output) {
    const last = groups.at(-1);
    const length = data.partial ? ~data.text.length : data.text.length;
    if (last !== undefined && last[0] === kind && last[1] === timestamp) last[2].push(length);
    else groups.push([kind, timestamp, [length]]);
    texts[kind] += outputText(data);
  }
  return { groups, ...texts };
}
