/** What the page shows of an examination: no more than is drawn, since all of it goes from one thread to another. */
import type { Examination } from '@vouchbox/verifier';
import { type ChainFindings, chainFindings } from './chain-findings.ts';

export interface Findings extends Omit<Examination, 'events' | 'brokenAt' | 'result'> {
  readonly chain: ChainFindings;
  /** What the result says that the program printed; null if there is no result that can be read. */
  readonly output: { readonly stdout: string; readonly stderr: string } | null;
}

export function findingsOf(examination: Examination): Findings {
  const { events: _events, brokenAt: _brokenAt, result, ...shown } = examination;
  const textOf = (value: unknown) => (typeof value === 'string' ? value : '');
  return {
    ...shown,
    chain: chainFindings(examination),
    output: result === null ? null : { stdout: textOf(result['stdout']), stderr: textOf(result['stderr']) },
  };
}
