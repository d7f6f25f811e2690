/** What the page shows of a graph: the drawing, and what is wrong or missing. */
import { EXPORT_FILES, readGraphFile } from '@vouchbox/evidence';
import { type Check, drawGraph, EXIT, type ExaminationOptions, verifyGraph } from '@vouchbox/verifier';
import type { Files, GivenGraph } from '../intake/export-files.ts';

export interface GraphFindings {
  /** `incomplete`: a job is missing or unbound. */
  readonly state: 'good' | 'incomplete' | 'refused';
  readonly jobs: number;
  readonly drawing: readonly string[];
  /** Checks that failed. */
  readonly bad: readonly Check[];
}

/** The findings; null without a graph, or if the browser cannot check signatures. Enclosed keys count if no key is pinned. */
export async function graphFindings(
  graph: GivenGraph | null,
  { publicKeys, canVerify, tenant, job }: ExaminationOptions,
): Promise<GraphFindings | null> {
  if (graph === null || !canVerify) return null;
  const keys = publicKeys.length > 0 ? publicKeys : enclosedKeys(graph);
  const files = {
    list: graph.list,
    jobs: [...graph.jobs.keys()],
    read: (id: string): Files => graph.jobs.get(id) ?? new Map(),
  };
  const stated = readGraphFile(graph.list)?.tenant ?? '';
  const report = await verifyGraph(files, { publicKeys: keys, tenant: tenant ?? stated, job });
  const state = report.exitCode === EXIT.good ? 'good' : report.exitCode === EXIT.policy ? 'incomplete' : 'refused';
  return {
    state,
    jobs: report.jobs.size,
    drawing: drawGraph(report),
    bad: report.checks.filter(({ isGood }) => !isGood),
  };
}

function enclosedKeys({ jobs }: GivenGraph): string[] {
  const bytes = [...jobs.values()].flatMap((files) => files.get(EXPORT_FILES.publicKey) ?? []);
  return [...new Set(bytes.map((pem) => new TextDecoder().decode(pem)))];
}
