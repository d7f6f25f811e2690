/** Judge0's answer about one submission: its members by name, or only those that the caller requests. */
import type { JobDetail, JobSubmission } from '@vouchbox/protocol';
import { isTerminal } from '@vouchbox/protocol/vocabulary';
import type { AdapterParts } from '../adapter.ts';
import { AdapterError, refusals } from '../adapter-error.ts';
import { type Ended, endOf, messageOf, ofProgram, type Ran } from '../run-program.ts';
import { usualNumber } from './languages.ts';
import { type StatusNumber, statusNumbered, statusOf } from './statuses.ts';
import type { TextForm } from './submission.ts';
import { parseToken } from './token.ts';

type Client = AdapterParts['client'];
type Members = Readonly<Record<string, unknown>>;

/** The members of an answer if the caller names no fields. */
const DEFAULT_FIELDS = ['stdout', 'time', 'memory', 'stderr', 'token', 'compile_output', 'message', 'status'];

export interface Asked {
  readonly token: string;
  readonly form: TextForm;
  /** The requested fields, as the query spells them; undefined for the default fields. */
  readonly fields: string | undefined;
  /** The outcome of the submission, if it is already known. */
  readonly ran?: Ran | undefined;
}

/** @throws AdapterError if the token is unknown, or if a requested field does not exist */
export async function answerOf(client: Client, { token, form, fields = '', ran }: Asked): Promise<Members> {
  const given = fields.split(',').flatMap((name) => name.trim() || []);
  const names = given.length === 0 ? DEFAULT_FIELDS : given;
  const isAll = names.includes('*');
  const needsBuild = isAll || names.includes('compile_output');
  const members = await membersOf(client, { token, form, ran, needsBuild });
  if (isAll) return members;
  const unknown = names.filter((name) => !Object.hasOwn(members, name));
  if (unknown.length > 0) throw new AdapterError(400, `invalid fields: [${unknown.join(', ')}]`);
  return Object.fromEntries(names.map((name) => [name, members[name]]));
}

type Wanted = Omit<Asked, 'fields'> & { readonly needsBuild: boolean };

async function membersOf(client: Client, { token, form, ran, needsBuild }: Wanted): Promise<Members> {
  const { job_id, languageNumber, expectedDigest } = parseToken(token);
  const [job, ended] = ran === undefined ? await storedJob(client, job_id) : [jobOf(ran), endOrProblem(ofProgram(ran))];
  const number = ended === null ? (job.status === 'queued' ? 1 : 2) : numberOf(ended, expectedDigest);
  const said = needsBuild && ended !== null ? await wordsOfBuild(client, job, ran) : null;
  const { code, stdin } = job.requested_spec;
  return {
    token,
    language_id: languageNumber ?? usualNumber(job.language),
    source_code: spelled(code ?? null, form),
    stdin: spelled(typeof stdin === 'string' ? stdin : null, form),
    created_at: job.created_at,
    finished_at: job.finished_at,
    status_id: number,
    status: statusNumbered(number),
    ...inForm({ ...NO_OUTCOME, compile_output: said, ...outcomeOf(ended) }, form),
  };
}

interface Problem {
  readonly problem: string;
}

/** The facts about the job that an answer states besides the outcome. */
interface Job extends Pick<JobDetail, 'status' | 'language' | 'created_at' | 'finished_at'> {
  readonly requested_spec: Partial<Omit<JobSubmission, 'tools'>>;
}

/** A job that the adapter knows only by its token. */
async function storedJob(client: Client, job_id: string): Promise<readonly [Job, Ended | Problem | null]> {
  const detail = await refusals(client.detail(job_id)).catch((error: AdapterError) => {
    throw error.status === 404 ? new AdapterError(404, 'there is no submission with this token') : error;
  });
  if (!isTerminal(detail.status)) return [detail, null];
  const result = await refusals(client.result(job_id));
  return [detail, endOrProblem({ ...result, ...detail })];
}

/** A job that the adapter has just run. The adapter has its receipt. */
function jobOf(ran: Ran): Job {
  const { status, receipt } = ofProgram(ran);
  const { created_at, finished_at } = receipt;
  return { status, language: ran.job.language, created_at, finished_at, requested_spec: ran.job };
}

/** In Judge0, a job that ran nothing is an internal error, not a failed request. */
function endOrProblem(end: Parameters<typeof endOf>[0]): Ended | Problem {
  try {
    return endOf(end);
  } catch (error) {
    if (error instanceof AdapterError) return { problem: error.message };
    throw error;
  }
}

/** The compiler's messages about a program that did compile; null if there are none, or if they are no longer kept. */
async function wordsOfBuild(client: Client, { requested_spec }: Job, ran: Ran | undefined) {
  const { product } = requested_spec;
  if (product === undefined) return null;
  const build = ran?.build ?? (await refusals(client.result(product.job_id)).catch(noneIfGone));
  return build === null ? null : build.stdout + build.stderr || null;
}

function noneIfGone(error: AdapterError): null {
  if (error.status === 404) return null;
  throw error;
}

function numberOf(ended: Ended | Problem, expectedDigest: string | null): StatusNumber {
  return 'problem' in ended ? 13 : statusOf(ended, expectedDigest);
}

/** The outcome of a job that has not ended or did not compile: every member is null. */
const NO_OUTCOME = {
  stdout: null,
  stderr: null,
  compile_output: null,
  message: null,
  exit_code: null,
  exit_signal: null,
  time: null,
  wall_time: null,
  memory: null,
};

function outcomeOf(ended: Ended | Problem | null): Members {
  if (ended === null) return {};
  if ('problem' in ended) return { message: ended.problem };
  if (ended.stage === 'compile') return { compile_output: ended.stdout + ended.stderr || compilerLimit(ended) };
  return {
    stdout: ended.stdout || null,
    stderr: ended.stderr || null,
    message: messageOf(ended) || null,
    exit_code: ended.exitCode,
    exit_signal: ended.signal,
    time: seconds(ended.cpuMilliseconds),
    wall_time: seconds(ended.wallMilliseconds),
    memory: ended.memoryBytes === null ? null : Math.ceil(ended.memoryBytes / 1024),
  };
}

/** The message about a compiler that a limit stopped. Such a compiler has often written no message itself. */
function compilerLimit(ended: Ended): string {
  return ended.kind === 'time_limit' ? 'Compilation time limit exceeded.' : messageOf(ended);
}

function seconds(milliseconds: number | null): string | null {
  return milliseconds === null ? null : (milliseconds / 1000).toFixed(3);
}

/** The members that are sent in base64 on request: texts from programs, compilers and the sandbox. */
const TEXTS = ['stdout', 'stderr', 'compile_output', 'message'] as const;

function inForm(outcome: Members, form: TextForm): Members {
  const texts = TEXTS.map((name) => [name, spelled(outcome[name] as string | null, form)] as const);
  return { ...outcome, ...Object.fromEntries(texts) };
}

function spelled(text: string | null, form: TextForm): string | null {
  return text === null || form === 'plain' ? text : Buffer.from(text).toString('base64');
}
