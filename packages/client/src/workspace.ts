/**
 * Files that the caller keeps between runs. A step is a job that gets the files as its input, works in a directory with them, and
 * returns the files that are there at its end. The service keeps no state: the output of one step is the input of the next. Every
 * step checks this with the receipts: the digest of its input must equal the digest of the previous output. This module is loaded
 * when it is first used.
 */

import type { ArtifactRecord, Receipt } from './contract-types.ts';
import type { Sha256 } from './digest.ts';
import { refuse } from './failure.ts';
import type { CallOptions } from './job-options.ts';
import type { RunOptions, RunResult } from './run.ts';
import type { Verified } from './verify-record.ts';
import { inWorkspace } from './workspace-program.ts';

/** One run in a workspace. */
export interface Step {
  readonly job_id: string;
  readonly receipt_sha256: string;
  /** The receipt's digest of the files that the program was given. */
  readonly inputDigest: string;
  /** The receipt's digest of the files that the program left. */
  readonly outputDigest: string;
  /**
   * Whether the workspace took the step's files. It did not if a limit or a request ended the program, or if the program left
   * more or larger files than can come back.
   */
  readonly wasKept: boolean;
  /** Whether the caller changed files since the last step that was kept. */
  readonly edited: boolean;
}

export type StepOptions = Omit<RunOptions, 'files' | 'outputs' | 'libraries'>;

export interface Workspace {
  /**
   * Runs code in `python` (the default), `node`, `typescript` or `bash`. Its working directory has the files, and the files that
   * it leaves there are kept: at most 32 files of 2 MiB, 4 MiB in all. Variables, empty directories and modes are not kept. Steps
   * run one after the other. Change files only between steps, because a step replaces all files.
   * @throws EvidenceFailure `workspace` if the receipt lists files other than those that this workspace sent or got back
   */
  run(program: string, options?: StepOptions): Promise<RunResult>;
  /** Adds a file or replaces it. `path` is relative, such as `data/a.csv`. */
  write(path: string, content: string | Uint8Array): void;
  /** The content of a file; undefined if there is none. */
  read(path: string): Uint8Array<ArrayBuffer> | undefined;
  /** Removes a file. False if there is no such file. */
  remove(path: string): boolean;
  /** The paths of all files, sorted. */
  paths(): string[];
  /** The digest of the current files: SHA-256 of the canonical JSON of their paths, digests and sizes. */
  digest(): Promise<string>;
  /** The steps so far, in their order. */
  readonly steps: readonly Step[];
  /**
   * Recomputes the record of every step, and checks that each step got the files that the last kept step before it had left.
   * @throws EvidenceFailure with the first fault
   */
  verify(options?: CallOptions): Promise<void>;
}

/** The client's functions that a workspace needs. */
export interface WorkspaceClient {
  readonly run: (program: string, options: RunOptions) => Promise<RunResult>;
  readonly verify: (job_id: string, options: CallOptions) => Promise<Verified>;
  readonly sha256: Sha256;
}

/** An empty workspace. */
export function openWorkspace({ run, verify, ...tools }: WorkspaceClient): Workspace {
  let files: Files = new Map();
  let turn: Promise<unknown> = Promise.resolve();
  const steps: Step[] = [];
  const { sha256 } = tools;

  const runStep = async (program: string, { language = 'python', ...options }: StepOptions): Promise<RunResult> => {
    const given = new Map(files);
    const sent = await digestOf(given, sha256);
    const input = Object.fromEntries(Array.from(given, ([path, content]) => [`input/${path}`, content]));
    const wrapped = inWorkspace(program, language);
    const ended = await run(wrapped, { ...options, language, files: input, outputs: ['output/**'] });
    const step = await stepOf(ended, { sent, kept: await keptDigest(steps, sha256) }, tools);
    if (step.wasKept) {
      const left = new Map(Array.from(ended.files, ([path, content]) => [path.slice('output/'.length), content]));
      const what = `the receipt of ${ended.job_id} lists other output files than it gave`;
      expectSame(await digestOf(left, sha256), step.outputDigest, what);
      files = left;
    }
    steps.push(step);
    return ended;
  };

  return {
    steps,
    run(program, options = {}) {
      const step = turn.then(() => runStep(program, options));
      turn = step.catch(() => {});
      return step;
    },
    write(path, content) {
      const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : new Uint8Array(content);
      files.set(checkedPath(path), bytes);
    },
    read: (path) => files.get(path),
    remove: (path) => files.delete(path),
    paths: () => [...files.keys()].sort(),
    digest: () => digestOf(files, sha256),
    async verify(options = {}) {
      let kept = await filesDigest([], sha256);
      for (const step of steps) {
        const { receipt } = await verify(step.job_id, options);
        await verifyStep(step, { receipt, kept }, tools);
        if (step.wasKept) kept = step.outputDigest;
      }
    },
  };
}

type Tools = Pick<WorkspaceClient, 'sha256'>;
type Files = Map<string, Uint8Array<ArrayBuffer>>;

async function stepOf(
  { job_id, receipt, receipt_sha256, status, terminal_reason, violations }: RunResult,
  { sent, kept }: { readonly sent: string; readonly kept: string },
  tools: Tools,
): Promise<Step> {
  const { sha256 } = tools;
  const { input_artifacts, output_artifacts = [] } = receipt;
  const inputDigest = input_artifacts ? await filesDigest(input_artifacts, sha256) : sent;
  expectSame(inputDigest, sent, `the receipt of ${job_id} lists other input files than those sent`);
  const hasLost = violations.some(({ type }) => type.startsWith('output_'));
  const endedByItself = (status === 'succeeded' || status === 'failed') && terminal_reason === 'exited';
  return {
    job_id,
    receipt_sha256,
    inputDigest,
    outputDigest: await filesDigest(output_artifacts, sha256),
    wasKept: input_artifacts !== undefined && endedByItself && !hasLost,
    edited: sent !== kept,
  };
}

async function verifyStep(
  { job_id, receipt_sha256, inputDigest, edited }: Step,
  { receipt, kept }: { readonly receipt: Receipt; readonly kept: string },
  tools: Tools,
): Promise<void> {
  const { sha256 } = tools;
  expectSame(receipt.receipt_sha256, receipt_sha256, `the receipt of ${job_id} changed since it ended`);
  const { input_artifacts } = receipt;
  const given = input_artifacts ? await filesDigest(input_artifacts, sha256) : inputDigest;
  expectSame(given, inputDigest, `${job_id} was given other files`);
  if (!edited) expectSame(inputDigest, kept, `${job_id} did not get the files that the step before it left`);
}

/** The digest of the files that the last kept step left; before the first step, the digest of no files. */
async function keptDigest(steps: readonly Step[], sha256: Sha256): Promise<string> {
  return steps.findLast(({ wasKept }) => wasKept)?.outputDigest ?? filesDigest([], sha256);
}

async function digestOf(files: Files, sha256: Sha256): Promise<string> {
  const records = Array.from(files, async ([path, content]) => ({
    path,
    sha256: await sha256(content),
    size_bytes: content.length,
  }));
  return filesDigest(await Promise.all(records), sha256);
}

/** The digest of a set of files, sorted by path. In a receipt, the paths are below `input/` or `output/`. */
async function filesDigest(records: readonly ArtifactRecord[], sha256: Sha256): Promise<string> {
  const rows = records
    .map(({ path, ...row }) => ({
      path: path.replace(/^(input|output)\//, ''),
      sha256: row.sha256,
      size_bytes: row.size_bytes,
    }))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
  // Because the members are in this order, the text is canonical (RFC 8785).
  return sha256(new TextEncoder().encode(JSON.stringify(rows)));
}

function expectSame(one: string, other: string, message: string): void {
  if (one !== other) refuse('workspace', message);
}

/** Returns a relative path that cannot lead to another file. @throws TypeError for any other path */
function checkedPath(path: string): string {
  const parts = path.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..') || path.includes('\\')) {
    throw new TypeError(`${JSON.stringify(path)} is not a path in the workspace`);
  }
  return path;
}
