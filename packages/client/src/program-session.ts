/**
 * A session: each program begins with the variables and the files that the previous one left. The service keeps these as job
 * outputs, and each step is a job with its own receipt. This module is loaded when it is first used. Spec § Sessions.
 */
import { SESSION_NAME } from '@vouchbox/protocol/vocabulary';
import { wrongIn } from './answer-check.ts';
import type { JobSubmission, Session as Standing } from './contract-types.ts';
import { randomKey } from './digest.ts';
import { ServiceFailure } from './failure.ts';
import type { CallOptions } from './job-options.ts';
import { read } from './operation.ts';
import type { RunOptions, RunResult } from './run.ts';
import type { Session } from './session.ts';

/** What a step kept, and what it did not keep: by name, with the reason. */
export interface Kept {
  readonly globals: number;
  readonly files: number;
  readonly not_kept: readonly { readonly kind: string; readonly name: string; readonly reason: string }[];
  /** How many more items were not kept, in addition to those in `not_kept`. */
  readonly more_not_kept: number;
}

/** What a step means for its session. The program itself reports what was kept, so only its caller should rely on the report. */
export interface StepOutcome {
  /** Whether this step is now the session's last step. False if the program failed or its state was too large. */
  readonly moved: boolean;
  readonly kept: Kept | null;
  /** Why the session is not at this step although the program ended well; null if it is there, or if the reason is unknown. */
  readonly problem: string | null;
}

/** A step's result, without the files that hold the session's state and without violations about those files. */
export interface StepResult extends RunResult, StepOutcome {}

export interface SessionOptions extends CallOptions {
  /** The language of all steps. The default is the session's language, or `python`. */
  readonly language?: string | undefined;
}

type Settled = Pick<RunResult, 'status' | 'files' | 'large_outputs' | 'violations'>;

export interface ProgramSession {
  readonly name: string;
  /** The last step. The next step begins with its state. Null before the first step. */
  readonly lastJob: string | null;
  /**
   * Runs a program as the next step. If the program fails, the session stays where it was.
   * @throws ServiceFailure `session_conflict` if another step was accepted in the meantime
   */
  run(program: string | JobSubmission, options?: RunOptions): Promise<StepResult>;
  /** Takes the result of a step that was submitted with `session: { name, after: lastJob }` instead of being run by `run`. */
  settle(result: Settled & Pick<RunResult, 'job_id'>): Promise<StepOutcome>;
  /** Removes the session. Its jobs are kept as long as other jobs. */
  remove(options?: CallOptions): Promise<void>;
}

/** Opens the session with this name, new or not. The default is a new name. @throws TypeError if no session can have the name */
export async function openProgramSession(
  session: Session & { run(program: JobSubmission, options: RunOptions): Promise<RunResult> },
  name: string = `session-${randomKey()}`,
  { language, signal }: SessionOptions = {},
): Promise<ProgramSession> {
  if (!SESSION_NAME.test(name)) throw new TypeError(NAME_WORDS);
  const found = await standingOf(session, name, signal);
  const usual = language ?? found?.language ?? 'python';
  let last = found?.last_job_id ?? null;
  const settle: ProgramSession['settle'] = async (result) => {
    const outcome = outcomeOf(result);
    if (!outcome.moved) return outcome;
    const problem = await elsewhere(session, name, result.job_id);
    if (problem !== null) return { ...outcome, moved: false, problem };
    last = result.job_id;
    return outcome;
  };
  return {
    name,
    get lastJob() {
      return last;
    },
    async run(program, options = {}) {
      const given = typeof program === 'string' ? { language: usual, code: program } : program;
      const result = await session.run({ ...given, session: { name, after: last } }, options);
      const files = new Map(result.files);
      files.delete(KEPT);
      const [violations, lost] = [result.violations.filter(isOther), result.lost.filter(isOther)];
      const large_outputs = (result.large_outputs ?? []).filter(isOther);
      return { ...result, files, violations, lost, large_outputs, ...(await settle(result)) };
    },
    settle,
    remove: async ({ signal: ending } = {}) => {
      await read(session, 'DELETE /v1/sessions/{session}', { session: name, signal: ending });
      last = null;
    },
  };
}

const NAME_WORDS = 'a session has 1 to 64 letters, digits, ".", "_" and "-", and begins with a letter or a digit';
const STATE = 'output/.session/state';
const KEPT = 'output/.session/kept.json';
const NOT_KEPT = { kind: 's', name: 's', reason: 's' };
const REPORT = { globals: 'i', files: 'i', not_kept: [NOT_KEPT], more_not_kept: 'i' } as const;

const isOther = ({ path }: { readonly path?: string }) => path !== STATE && path !== KEPT;

function outcomeOf({ status, files, large_outputs = [], violations }: Settled): StepOutcome {
  const report = reportOf(files.get(KEPT));
  const moved = status === 'succeeded' && large_outputs.some(({ path }) => path === STATE);
  // The program wrote the report, so the report may say anything.
  const kept = wrongIn(report, REPORT) === null ? (report as unknown as Kept) : null;
  const told = report?.['problem'] ?? violations.find(({ path }) => path === STATE)?.message;
  return { moved, kept, problem: status === 'succeeded' && !moved && typeof told === 'string' ? told : null };
}

/** Why a session is not at a step that left a state; null if the session is there, or if the service cannot be asked. */
async function elsewhere(session: Session, name: string, job_id: string): Promise<string | null> {
  try {
    const standing = await standingOf(session, name);
    if (standing === null) return 'the session was removed while the step ran';
    return standing.last_job_id === job_id ? null : 'the session moved on, or was begun anew, while the step ran';
  } catch {
    return null;
  }
}

function reportOf(bytes: Uint8Array<ArrayBuffer> | undefined): Record<string, unknown> | null {
  try {
    const report: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof report === 'object' ? (report as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

async function standingOf(session: Session, name: string, signal?: AbortSignal): Promise<Standing | null> {
  try {
    return await read(session, 'GET /v1/sessions/{session}', { session: name, signal });
  } catch (error) {
    // The reason for an abort may be another call's refusal.
    signal?.throwIfAborted();
    if (error instanceof ServiceFailure && error.code === 'session_not_found') return null;
    throw error;
  }
}
