/** The jobs that a job depends on, as a tree of text. */
import type { GraphFindings } from '../check/graph-findings.ts';
import { element, section } from './element.ts';

/** The view of a graph; null for an export of one job. */
export function graphView(graph: GraphFindings | null): HTMLElement | null {
  if (graph === null) return null;
  const words = `${graph.jobs} ${graph.jobs === 1 ? 'job' : 'jobs'}. Each job was checked, and for each arrow, that both receipts have the same digest.`;
  const tree = element('pre', { tabindex: '0', role: 'region', 'aria-label': 'Jobs' }, graph.drawing.join('\n'));
  return section('graph', 'Jobs that it depends on', element('p', {}, words), tree);
}
