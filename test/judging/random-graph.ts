/** Random graphs of jobs: builds, tests that start the products of builds, and steps that read outputs of other jobs. */
import type { JobSubmission, ServiceClient } from '@vouchbox/client';

export interface GraphJob {
  readonly kind: 'build' | 'test' | 'step';
  /** The positions of the jobs whose outputs this job gets. Those jobs come later in the graph. */
  readonly on: readonly number[];
  /** The position of the build whose product a test starts. */
  readonly product?: number;
}

interface Drawing {
  readonly below: (bound: number) => number;
  readonly builds: boolean;
}

const builds = 3;
const tests = 9;

/** Makes a graph in which the first job depends on every other job, directly or through others. */
export function randomGraph(size: number, { below, builds: hasBuilds }: Drawing): readonly GraphJob[] {
  const buildsFrom = hasBuilds ? size - builds : size;
  const testsFrom = hasBuilds ? buildsFrom - tests : size;
  const on = Array.from({ length: size }, () => new Set<number>());
  for (let at = 1; at < buildsFrom; at++) {
    on[below(Math.min(at, testsFrom))]?.add(at);
    if (below(2) === 0) on[below(Math.min(at, testsFrom))]?.add(at);
  }
  return on.map((others, at) => {
    if (at >= buildsFrom) return { kind: 'build', on: [] };
    if (at < testsFrom) return { kind: 'step', on: [...others].slice(0, inputsMax) };
    return { kind: 'test', on: [...others], product: buildsFrom + ((at - testsFrom) % builds) };
  });
}

/** The most files of a submission. */
const inputsMax = 32;

/** How many jobs run at a time: a tenant may have this many waits. */
const atOnce = 8;

/** Runs every job after the jobs on which it depends. The first id belongs to the job that depends on all others. */
export async function runGraph(
  client: ServiceClient,
  graph: readonly GraphJob[],
  name: string,
): Promise<readonly string[]> {
  const ids: Promise<string>[] = [];
  // A job depends only on later jobs, which begin first, so no job waits for a job that has not begun.
  for (let at = graph.length - 1; at >= 0; at--) {
    const earlier = ids[at + atOnce];
    ids[at] = Promise.resolve(earlier).then(() => runJob(client, graph, { at, name, ids }));
  }
  return await Promise.all(ids);
}

interface Running {
  readonly at: number;
  readonly name: string;
  readonly ids: readonly Promise<string>[];
}

async function runJob(client: ServiceClient, graph: readonly GraphJob[], { at, name, ids }: Running): Promise<string> {
  const job = graph[at] as GraphJob;
  const files = await Promise.all(
    job.on.map(async (other) => ({
      path: `input/${other}`,
      from: { job_id: String(await ids[other]), path: 'output/made' },
    })),
  );
  const product = job.product === undefined ? null : String(await ids[job.product]);
  const submission = submissionOf(job, { label: `${name}, job ${job.product ?? at}`, product });
  const { job_id } = await client.submit({ ...submission, ...(files.length > 0 && { files }) } as JobSubmission);
  const { status, stderr } = await client.waitForResult(job_id);
  if (status !== 'succeeded') throw new Error(`${name}: ${job_id} ended ${status}: ${stderr.slice(0, 300)}`);
  return job_id;
}

function submissionOf(
  { kind }: GraphJob,
  { label, product }: { readonly label: string; readonly product: string | null },
): object {
  if (kind === 'step') {
    const code = `cat input/* /dev/null 2>/dev/null | sha256sum > output/made; echo ${label} >> output/made`;
    return { language: 'bash', code, outputs: ['output/made'] };
  }
  const code = `#include <stdio.h>
int main(int argc, char **argv) {
    FILE *made = fopen("output/made", "w");
    fprintf(made, "${label}: %s", argc > 1 ? argv[1] : "none");
    return fclose(made);
}
`;
  if (kind === 'build') return { language: 'c', code, build: {} };
  return { language: 'c', code, args: [label], product: { job_id: product }, outputs: ['output/made'] };
}
