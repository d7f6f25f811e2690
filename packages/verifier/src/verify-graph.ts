/**
 * Checks a job and every job that it depends on: each export, and each edge between two jobs. If a job read another job's
 * file, its policy names the edge, and the receipts of both have the file's digest. Uses nothing that only Node has.
 */
import {
  EXPORT_FILES,
  EXPORT_OPTIONAL_FILES,
  type GraphInput,
  graphDepthMax,
  graphJobsMax,
  inputsOfPolicy,
  jsonObjectIn,
  readGraphFile,
  type StoredReceipt,
} from '@vouchbox/evidence';
import { STDIN } from '@vouchbox/protocol/vocabulary';
import { NOTICE } from './attestation.ts';
import { artifactIn } from './check-record.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { type ExportFiles, type ExportProblem, isProblem, parseExport, wholeFile } from './exported-job.ts';
import { compareInteraction, interactionInput, interactionOf, isInteraction } from './interaction-edge.ts';
import { type Check, checked, failed, passed, type Report, refusal } from './report.ts';
import { type ExportExpectation, verifyExport } from './verify-export.ts';

/** A graph as a directory holds it. */
export interface GraphFiles {
  /** The bytes of `graph.json`; null if it is missing, or too large. */
  readonly list: Uint8Array | null;
  /** The names of the directories beside `graph.json`. */
  readonly jobs: readonly string[];
  readonly read: (job_id: string) => ExportFiles | ExportProblem | Promise<ExportFiles | ExportProblem>;
}

/**
 * `good`: a pinned key signed all of the job. `broken`: no pinned key did, or the export contradicts itself. `missing`: the job
 * is not here. `unbound`: the receipt was made by recovery, and says nothing about the job's files.
 */
export type GraphJobState = 'good' | 'broken' | 'missing' | 'unbound';

export interface GraphEdge extends GraphInput {
  /** The digest of the file if it is the same at both ends; null if it differs, or an end is missing here. */
  readonly sha256: string | null;
  /** What is wrong with the edge; null for a good edge, and for an edge whose other end is not here. */
  readonly problem: string | null;
}

export interface GraphJob {
  readonly job_id: string;
  readonly state: GraphJobState;
  readonly detail: string;
  /** How the job ended; null if the end is not known. */
  readonly status: string | null;
  readonly inputs: readonly GraphEdge[];
}

export interface GraphReport extends Report {
  /** The job that the graph is about; null if no file names it. */
  readonly job_id: string | null;
  /** Every job that was reached, beginning with the job that the graph is about. */
  readonly jobs: ReadonlyMap<string, GraphJob>;
}

/** A job before its edges are compared. */
interface Node extends Omit<GraphJob, 'inputs'> {
  readonly exitCode: ExitCode;
  readonly receipt: StoredReceipt | null;
  readonly inputs: readonly GraphInput[];
}

/** The limits of a graph. */
export interface GraphBounds {
  readonly jobsMax: number;
  readonly depthMax: number;
}

export async function verifyGraph(
  { list, jobs: names, read }: GraphFiles,
  { publicKeys, tenant, job }: Omit<ExportExpectation, 'policy'>,
  { jobsMax, depthMax }: GraphBounds = { jobsMax: graphJobsMax, depthMax: graphDepthMax },
): Promise<GraphReport> {
  const graph = list === null ? null : readGraphFile(list);
  if (graph === null)
    return refusedGraph(EXIT.notAnExport, failed('graph', 'there is no graph.json that lists a graph'));
  if (names.length > jobsMax)
    return refusedGraph(EXIT.notAnExport, failed('graph', `it has more than ${jobsMax} jobs`));
  if (graph.tenant !== tenant)
    return refusedGraph(EXIT.profile, failed('graph', `it is of the tenant ${graph.tenant}`));
  if (job !== undefined && job !== graph.job_id)
    return refusedGraph(EXIT.profile, failed('graph', `it is about the job ${graph.job_id}`));
  const there = new Set(names);
  const nodes = new Map<string, Node>();
  let depth = 0;
  for (let level = [graph.job_id]; level.length > 0; depth++) {
    if (depth > depthMax) return refusedGraph(EXIT.record, failed('graph', `it is deeper than ${depthMax} jobs`));
    for (const id of level) {
      const isHere = there.has(id);
      nodes.set(id, isHere ? await nodeOf(id, await read(id), { publicKeys, tenant }) : gone(id, graph.missing));
    }
    const named = level.flatMap((id) => nodes.get(id)?.inputs.map(({ from }) => from.job_id) ?? []);
    level = [...new Set(named)].filter((id) => !nodes.has(id));
  }
  const jobs = new Map<string, GraphJob>();
  for (const [id, node] of nodes) jobs.set(id, await withEdges(node, { nodes, read }));
  const surplus = names.filter((name) => !nodes.has(name));
  return report(graph.job_id, { nodes, jobs, surplus });
}

function gone(job_id: string, missing: readonly string[]): Node {
  const detail = missing.includes(job_id)
    ? 'the service no longer had it'
    : 'it is not here, but not listed as missing';
  return { job_id, state: 'missing', detail, status: null, exitCode: EXIT.policy, receipt: null, inputs: [] };
}

async function nodeOf(
  job_id: string,
  files: ExportFiles | ExportProblem,
  expected: Omit<ExportExpectation, 'job' | 'policy'>,
): Promise<Node> {
  const made = await verifyExport(parseExport(files), { ...expected, job: job_id });
  const broken = (detail: string, exitCode: ExitCode = EXIT.record): Node => ({
    job_id,
    state: 'broken',
    detail,
    exitCode,
    status: null,
    receipt: null,
    inputs: [],
  });
  const bad = made.checks.find(({ isGood }) => !isGood);
  if (made.exitCode !== EXIT.good) return broken(`${bad?.name}: ${bad?.detail}`, made.exitCode);
  const receipt = receiptOf(files);
  if (receipt === null) return broken('receipt_file: it cannot be read');
  const status = String(receipt['status']);
  if (receipt['policy_sha256'] === undefined) {
    const detail = 'its receipt was made by recovery, and says nothing of its files';
    return { job_id, state: 'unbound', detail, status, exitCode: EXIT.policy, receipt, inputs: [] };
  }
  const policy = isProblem(files) ? undefined : wholeFile(files, EXPORT_OPTIONAL_FILES.policy);
  if (policy === undefined) return broken('policy.json is missing, so the inputs of the job are unknown');
  const inputs = inputsOfPolicy(policy);
  if (inputs === null) return broken('policy.json: its inputs cannot be read');
  const talk = interactionOf(receipt);
  return {
    job_id,
    state: 'good',
    detail: `${made.checks.length} checks`,
    status,
    exitCode: EXIT.good,
    receipt,
    inputs: talk === null ? inputs : [...inputs, interactionInput(talk)],
  };
}

/** The receipt from its file. The file was already compared with the signed receipt. */
function receiptOf(files: ExportFiles | ExportProblem): StoredReceipt | null {
  return isProblem(files) ? null : jsonObjectIn(wholeFile(files, EXPORT_FILES.receipt));
}

async function withEdges(
  { job_id, state, detail, status, receipt, inputs }: Node,
  { nodes, read }: { readonly nodes: ReadonlyMap<string, Node> } & Pick<GraphFiles, 'read'>,
): Promise<GraphJob> {
  const edges: GraphEdge[] = [];
  for (const input of inputs) {
    if (!isInteraction(input)) edges.push(edgeOf(receipt, input, nodes));
    else {
      const other = nodes.get(input.from.job_id);
      const nothing = { sha256: null, problem: null };
      const readOther = async () => await read(input.from.job_id);
      const compared = other?.state === 'good' ? compareInteraction({ job_id, receipt }, other, readOther) : nothing;
      edges.push({ ...input, ...(await compared) });
    }
  }
  return { job_id, state, detail, status, inputs: edges };
}

/** Compares a file's digest and size in two receipts, one from the job that read it and one from the job that made it. */
function edgeOf(receipt: StoredReceipt | null, input: GraphInput, nodes: ReadonlyMap<string, Node>): GraphEdge {
  const given = input.path === STDIN ? stdinOf(receipt) : recordOf(receipt, 'input_artifacts', input.path);
  if (given === null) return { ...input, sha256: null, problem: `the receipt has no ${input.path}` };
  const other = nodes.get(input.from.job_id);
  if (other?.state !== 'good') return { ...input, sha256: null, problem: null };
  const { path } = input.from;
  const made = recordOf(other.receipt, 'output_artifacts', path) ?? recordOf(other.receipt, 'large_outputs', path);
  if (made === null) return { ...input, sha256: null, problem: `${other.job_id} returned no ${input.from.path}` };
  const isSame = given.sha256 === made.sha256 && (given.size_bytes ?? made.size_bytes) === made.size_bytes;
  const problem = `${given.sha256} was given, and ${other.job_id} returned ${made.sha256}`;
  return isSame ? { ...input, sha256: given.sha256, problem: null } : { ...input, sha256: null, problem };
}

/** Standard input as a receipt states it: with a digest but without a size. */
function stdinOf(receipt: StoredReceipt | null) {
  const sha256 = receipt?.['stdin_sha256'];
  return typeof sha256 === 'string' ? { sha256, size_bytes: null } : null;
}

function recordOf(
  receipt: StoredReceipt | null,
  list: 'input_artifacts' | 'output_artifacts' | 'large_outputs',
  path: string,
) {
  const { sha256, size_bytes } = artifactIn(receipt?.[list], path) ?? {};
  return typeof sha256 === 'string' && typeof size_bytes === 'number' ? { sha256, size_bytes } : null;
}

interface Compared {
  readonly nodes: ReadonlyMap<string, Node>;
  readonly jobs: ReadonlyMap<string, GraphJob>;
  readonly surplus: readonly string[];
}

/** A fault decides the exit code, even if a part is missing too. */
function report(job_id: string, { nodes, jobs, surplus }: Compared): GraphReport {
  const checks: Check[] = [];
  const broken: ExitCode[] = [];
  let isWhole = true;
  /** Whether all dependencies are known: only a good job shows which jobs it depends on. */
  const isKnown = [...jobs.values()].every(({ state }) => state === 'good');
  for (const { job_id: id, state, detail, inputs } of jobs.values()) {
    checks.push(
      state === 'good'
        ? passed(id, detail)
        : failed(id, state === 'broken' ? detail : `${state.toUpperCase()}: ${detail}`),
    );
    if (state === 'broken') broken.push(nodes.get(id)?.exitCode ?? EXIT.record);
    if (state !== 'good') isWhole = false;
    for (const { path, from, sha256, problem } of inputs) {
      if (problem === null && sha256 === null) continue;
      checks.push(checked(`${id} ${path}`, problem, `${from.path} of ${from.job_id}, sha256:${sha256}`));
      if (problem !== null) broken.push(EXIT.record);
    }
  }
  const strangers = isKnown ? surplus : [];
  for (const name of strangers) checks.push(failed(name, 'it is here, but no job depends on it'));
  const circle = jobOfCircle(jobs);
  if (circle !== null) checks.push(failed(circle, 'it depends on itself'));
  if (strangers.length > 0 || circle !== null) broken.push(EXIT.record);
  const exitCode = broken[0] ?? (isWhole ? EXIT.good : EXIT.policy);
  const edges = [...jobs.values()].reduce((sum, { inputs }) => sum + inputs.length, 0);
  const facts = { job_id, jobs: jobs.size, edges };
  return { exitCode, checks, facts, notice: exitCode === EXIT.good ? NOTICE : null, job_id, jobs };
}

/**
 * A job that depends on itself; null if there is none. Jobs do not depend on each other just because their programs talk. The
 * search keeps removing jobs on which no remaining job depends.
 */
function jobOfCircle(jobs: ReadonlyMap<string, GraphJob>): string | null {
  const counts = new Map(Array.from(jobs.keys(), (id) => [id, 0]));
  const each = function* (id: string) {
    for (const input of jobs.get(id)?.inputs ?? []) if (!isInteraction(input)) yield input.from.job_id;
  };
  for (const id of jobs.keys()) for (const other of each(id)) counts.set(other, (counts.get(other) ?? 0) + 1);
  const free = [...counts].filter(([, count]) => count === 0).map(([id]) => id);
  for (let id = free.pop(); id !== undefined; id = free.pop()) {
    counts.delete(id);
    for (const other of each(id)) {
      const left = (counts.get(other) ?? 0) - 1;
      counts.set(other, left);
      if (left === 0) free.push(other);
    }
  }
  return counts.keys().next().value ?? null;
}

/** The report on a graph in which nothing was checked. */
export function refusedGraph(exitCode: ExitCode, check: Check): GraphReport {
  return { ...refusal(exitCode, [check]), job_id: null, jobs: new Map() };
}
