/** What the page gets of an examination: only what is drawn, because all of it is sent from one thread to another. */
import { callsIn, callText, type Examination, type ExaminationVerdict } from '@vouchbox/verifier';
import { type ChainFindings, chainFindings } from './chain-findings.ts';
import type { GraphFindings } from './graph-findings.ts';

/** The most tool calls that are shown. */
const callsMax = 200;

/** `incomplete`: the job is good, but a job that it depends on is missing or unbound. */
export type PageVerdict = ExaminationVerdict | 'incomplete';

export interface Findings extends Omit<Examination, 'events' | 'brokenAt' | 'result' | 'verdict'> {
  readonly verdict: PageVerdict;
  /** The findings about the graph; null for an export of one job. */
  readonly graph: GraphFindings | null;
  readonly chain: ChainFindings;
  /** The program's output according to the result; null if no result can be read. */
  readonly output: { readonly stdout: string; readonly stderr: string } | null;
  /** The tool calls, one line each, and how many more there are. */
  readonly calls: { readonly lines: readonly string[]; readonly more: number };
}

export function findingsOf(examination: Examination, graph: GraphFindings | null): Findings {
  const { events, brokenAt: _brokenAt, result, ...shown } = examination;
  const calls = callsIn(events);
  const lines = calls.slice(0, callsMax).map((call) => `${call.seq}  ${callText(call)}`);
  const textOf = (value: unknown) => (typeof value === 'string' ? value : '');
  return {
    ...shown,
    graph,
    verdict: verdictWith(graph, shown.verdict),
    chain: chainFindings(examination),
    calls: { lines, more: calls.length - lines.length },
    output: result === null ? null : { stdout: textOf(result['stdout']), stderr: textOf(result['stderr']) },
  };
}

/** The common verdict on the job and its graph. An unchecked signer outweighs a missing job. */
function verdictWith(graph: GraphFindings | null, verdict: ExaminationVerdict): PageVerdict {
  if (graph?.state === 'refused') return 'refused';
  return graph?.state === 'incomplete' && verdict === 'good' ? 'incomplete' : verdict;
}
