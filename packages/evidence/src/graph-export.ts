/**
 * The directory of a job and of all jobs that it depends on, as `vouchbox export --with-inputs` writes it: an export of each job
 * in a directory with the job's id, and a list. The list is not signed. An incomplete list is noticed, because a job's policy
 * names the jobs that it depends on, and the receipt has the policy's digest.
 */
import type { OutputName } from '@vouchbox/protocol';
import { canonicalJson } from './canonical-json.ts';
import { isJsonObject, jsonObjectIn } from './strict-json.ts';

export const JOB_GRAPH_TYPE = 'urn:svc:job-graph:v1';

/** The list of a graph. */
export const GRAPH_FILE = 'graph.json';
/** The most jobs in a graph, and the most jobs in a chain from the graph's job to one that it depends on. */
export const graphJobsMax = 10_000;
export const graphDepthMax = 1000;
export const graphFileBytesMax = 4 * 2 ** 20;

export interface JobGraph {
  readonly _type: typeof JOB_GRAPH_TYPE;
  readonly tenant: string;
  /** The job whose graph this is. */
  readonly job_id: string;
  /** Jobs that the service no longer had. */
  readonly missing: readonly string[];
}

export function graphFile(graph: Omit<JobGraph, '_type'>): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(canonicalJson({ _type: JOB_GRAPH_TYPE, ...graph }));
}

/** The list in these bytes; null if the bytes are not the list of a graph. */
export function readGraphFile(bytes: Uint8Array): JobGraph | null {
  const { _type, tenant, job_id, missing } = jsonObjectIn(bytes) ?? {};
  if (_type !== JOB_GRAPH_TYPE || typeof tenant !== 'string' || typeof job_id !== 'string') return null;
  if (!isDirectoryOfJob(job_id) || !Array.isArray(missing) || !missing.every((id) => typeof id === 'string'))
    return null;
  return { _type, tenant, job_id, missing };
}

/** Whether a job id can be used as the name of a directory and cannot be read as anything else. */
export function isDirectoryOfJob(job_id: string): boolean {
  return /^[A-Za-z0-9_-]{1,128}$/.test(job_id);
}

/** A job's input that is another job's output. */
export interface GraphInput {
  readonly path: string;
  readonly from: OutputName;
}

/** The inputs that a policy's text names; null if the text does not have the form of a policy. */
export function inputsOfPolicy(bytes: Uint8Array): readonly GraphInput[] | null {
  const policy = jsonObjectIn(bytes);
  if (policy === null) return null;
  const { inputs = [] } = policy;
  return Array.isArray(inputs) && inputs.every(isInput) ? inputs : null;
}

function isInput(value: unknown): value is GraphInput {
  if (!isJsonObject(value) || typeof value['path'] !== 'string') return false;
  const { from } = value;
  return isJsonObject(from) && typeof from['job_id'] === 'string' && typeof from['path'] === 'string';
}
