/**
 * Tool calls in a history: checks that the signed counts and digests follow from the events, and lists the calls for a reader.
 */
import {
  canonicalJson,
  type ExecutionPredicate,
  type StoredReceipt,
  Transcript,
  type TranscriptCall,
} from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { printable } from '@vouchbox/protocol/vocabulary';
import { type Check, checked, type Facts } from './report.ts';

/** How many calls a report lists, and how many characters of each. All calls are in the events. */
const listedMax = 100;
const listedCharactersMax = 160;

/** Checks the tool calls. The statement is null if none is known to be signed. */
export function toolChecks(
  events: readonly JobEvent[],
  receipt: StoredReceipt,
  statement: Pick<ExecutionPredicate, 'also'> | null,
): Check[] {
  const transcript = new Transcript();
  const problem = events.map((event) => transcript.add(event)).find((found) => found !== null) ?? null;
  const stated = statement?.also?.['tools'];
  const hasTools = Object.hasOwn(receipt, 'tool_limits') || stated !== undefined;
  if (!hasTools && transcript.calls.length === 0 && problem === null) return [];
  const { calls, refused, transcriptSha256 } = transcript.evidence();
  const counts = Object.entries(calls).map(([tool, count]) => `${count} of ${tool}`);
  const detail = [...counts, `${refused} refused`, `transcript sha256:${transcriptSha256}`].join(', ');
  return [checked('tools', problem ?? (statement && unlike(stated, { calls, refused, transcriptSha256 })), detail)];
}

function unlike(stated: unknown, evidence: object): string | null {
  if (stated === undefined) return 'the signed receipt says nothing about calls of tools';
  return canonicalJson(stated) === canonicalJson(evidence) ? null : 'the signed calls do not follow from the events';
}

/** The calls as facts. Each is named by the number of its event. Other checks compare calls with the chain and signed digests. */
export function callFacts(events: readonly JobEvent[]): Facts {
  const calls = callsIn(events);
  const listed = calls.slice(0, listedMax).map((call): [string, string] => [`call_${call.seq}`, callText(call)]);
  const more = calls.length - listed.length;
  return { ...Object.fromEntries(listed), ...(more > 0 && { more_calls: more }) };
}

export function callsIn(events: readonly JobEvent[]): readonly TranscriptCall[] {
  const transcript = new Transcript();
  for (const event of events) transcript.add(event);
  return transcript.calls;
}

/** A call in one line, cut to a length and safe to print on a terminal. */
export function callText({ tool, arguments: given, outcome, principal }: TranscriptCall): string {
  const cut = (value: unknown) => printable(JSON.stringify(value), listedCharactersMax);
  const asked = `${printable(tool, 64)} ${cut(given)}`;
  if (outcome === null) return `${asked}: nobody answered`;
  if ('refused' in outcome) return `${asked}: refused, ${cut(outcome.refused)}`;
  const answer = 'error' in outcome ? `error ${cut(outcome.error)}` : cut(outcome.result);
  return `${asked}: ${answer}, by ${printable(principal ?? '', 64)}`;
}
