/** The jobs that a job depends on, as a tree of text. */
import { amountOf } from '@vouchbox/protocol/words';
import type { GraphFindings } from '../check/graph-findings.ts';
import { element, section } from './element.ts';

/** The view of a graph; null for an export of one job. */
export function graphView(graph: GraphFindings | null): HTMLElement | null {
  if (graph === null) return null;
  const words = `${amountOf(graph.jobs, 'job')}. Each job was checked, and for each arrow, that both receipts have the same digest.`;
  const tree = element('pre', { tabindex: '0', role: 'region', 'aria-label': 'Jobs' }, graph.drawing.join('\n'));
  return section('graph', 'Jobs that it depends on', element('p', {}, words), tree);
}
