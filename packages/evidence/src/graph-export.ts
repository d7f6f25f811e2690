/**
 * The directory of a job and of all jobs that it depends on, as `vouchbox export --with-inputs` writes it: an export of each job
 * in a directory of its name, and a list. The list is not signed. A job's policy names the jobs that it depends on, and its
 * receipt has the policy's digest, so an incomplete list is noticed.
 */
import type { OutputName } from '@vouchbox/protocol';
import { canonicalJson } from './canonical-json.ts';
import { isJsonObject, jsonObjectIn } from './strict-json.ts';

export const JOB_GRAPH_TYPE = 'urn:svc:job-graph:v1';

/** The list of a graph. */
export const GRAPH_FILE = 'graph.json';
/** A graph may have so many jobs. A chain from the graph's job to a job that it depends on may have so many. */
export const graphJobsMax = 10_000;
export const graphDepthMax = 1000;
export const graphFileBytesMax = 4 * 2 ** 20;

export interface JobGraph {
  readonly _type: typeof JOB_GRAPH_TYPE;
  readonly tenant: string;
  /** The job whose graph this is. */
  readonly job_id: string;
  /** Jobs that the service did not have any more. */
  readonly missing: readonly string[];
}

export function graphFile(graph: Omit<JobGraph, '_type'>): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(canonicalJson({ _type: JOB_GRAPH_TYPE, ...graph }));
}

/** The list in these bytes; null if the bytes are no list of a graph. */
export function readGraphFile(bytes: Uint8Array): JobGraph | null {
  const { _type, tenant, job_id, missing } = jsonObjectIn(bytes) ?? {};
  if (_type !== JOB_GRAPH_TYPE || typeof tenant !== 'string' || typeof job_id !== 'string') return null;
  if (!isDirectoryOfJob(job_id) || !Array.isArray(missing) || !missing.every((id) => typeof id === 'string'))
    return null;
  return { _type, tenant, job_id, missing };
}

/** Whether a job id can be the name of a directory and nothing else. */
export function isDirectoryOfJob(job_id: string): boolean {
  return /^[A-Za-z0-9_-]{1,128}$/.test(job_id);
}

/** An input of a job that is an output of another. */
export interface GraphInput {
  readonly path: string;
  readonly from: OutputName;
}

/** The inputs that the text of a policy names; null if it has a form that no policy has. */
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
