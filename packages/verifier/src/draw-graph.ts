/** Draws a graph of jobs as a text tree: below each job are its inputs from other jobs. Uses nothing that only Node has. */
import { printable } from '@vouchbox/protocol/vocabulary';
import type { GraphEdge, GraphJob, GraphReport } from './verify-graph.ts';

/** A tree is cut beyond these bounds. The report beside it still has a check for every job and every edge. */
const depthMax = 24;
const linesMax = 1000;

interface Place {
  readonly id: string;
  /** The edge over which the job was reached; null for the job that the graph is about. */
  readonly edge: GraphEdge | null;
  /** The text before a node's line, and before the lines below it. */
  readonly first: string;
  readonly rest: string;
  readonly depth: number;
}

/** Lines without line ends; none for a refused graph. A job on which several jobs depend is drawn below the first of them. */
export function drawGraph({ job_id, jobs }: Pick<GraphReport, 'job_id' | 'jobs'>): readonly string[] {
  const lines: string[] = [];
  const drawn = new Set<string>();
  const waiting: Place[] = job_id === null ? [] : [{ id: job_id, edge: null, first: '', rest: '', depth: 0 }];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    if (lines.length >= linesMax) return [...lines, '…'];
    const job = jobs.get(place.id);
    const inputs = job?.inputs ?? [];
    const isAgain = drawn.has(place.id) && inputs.length > 0;
    const isCut = !isAgain && inputs.length > 0 && place.depth === depthMax;
    lines.push(
      `${place.first}${edgeText(place.edge)}${jobText(place.id, job)}${isAgain ? ', as above' : ''}${isCut ? ' …' : ''}`,
    );
    if (isAgain || isCut) continue;
    drawn.add(place.id);
    const { rest, depth } = place;
    const below = inputs.map((edge, index): Place => {
      const isLast = index === inputs.length - 1;
      const [first, more] = isLast ? ['└─ ', '   '] : ['├─ ', '│  '];
      return { id: edge.from.job_id, edge, first: `${rest}${first}`, rest: `${rest}${more}`, depth: depth + 1 };
    });
    waiting.push(...below.toReversed());
  }
  return lines;
}

function edgeText(edge: GraphEdge | null): string {
  if (edge === null) return '';
  const sign = edge.problem === null ? '←' : '✗';
  return `${printable(edge.path)} ${sign} ${printable(edge.from.path)} of `;
}

function jobText(id: string, job: GraphJob | undefined): string {
  const state = job === undefined || job.state === 'good' ? '' : `  ${job.state.toUpperCase()}`;
  return `${printable(id)}${job?.status == null ? '' : `  ${printable(job.status)}`}${state}`;
}
