/**
 * `vouchbox run`: runs one program on a service, prints its output as it comes, and exits with the program's exit code.
 */
import { randomUUID } from 'node:crypto';
import type { ProgramSession, RunTools, ServiceClient, Submitted } from '@vouchbox/client';
import type { EventData, JobSubmission } from '@vouchbox/protocol';
import { printable } from '@vouchbox/protocol/vocabulary';
import { EXIT, exitCodeOf } from './failures/exit-code.ts';
import { UsageError } from './failures/usage-error.ts';
import { fetchOutputs, fetchStdout } from './files/large-output-files.ts';
import { writeNew } from './files/new-file.ts';
import { type WrittenOutputs, writeOutputs } from './files/output-files.ts';
import { withUploads } from './files/upload-files.ts';
import { namedLibraries } from './libraries/upload-libraries.ts';
import { asStep, isOfSession, sessionRemarks, settled } from './run-session.ts';
import { commandTools } from './run-tools.ts';
import { type AccessOptions, namedService, type ServiceAccess } from './service/service-access.ts';
import { enterOwnUsers } from './service/service-or-own.ts';
import { refusalInFlags } from './submission/refusal-in-flags.ts';
import { readSubmission, STDOUT_FILE, type SubmissionOptions, wantedOutputs } from './submission/submission-options.ts';
import { takeInterrupts, unlessInterrupted } from './terminal/interrupts.ts';
import { type JsonOption, note, printResult } from './terminal/print.ts';
import { Remarks } from './terminal/remarks.ts';
import { showOutput } from './terminal/show-output.ts';
import { isPiped } from './terminal/standard-input.ts';

export interface RunOptions extends SubmissionOptions, AccessOptions, JsonOption {
  /** Passes the program's output to a terminal unescaped. */
  readonly raw?: true;
  /** Starts a service for this run, even if another service is named. */
  readonly local?: true;
  readonly allowMissing?: true;
  /** Runs the program only if the service promises that its log will contain the job. */
  readonly promise?: true;
  /** A new file for the promise. This option also requests the promise. */
  readonly promiseFile?: string;
  /** The name of the session. The program is its next step. */
  readonly session?: string;
  /** A file, or the digest of an upload. */
  readonly libraries?: string;
  /** The program's tools, each as `NAME=COMMAND`. */
  readonly tool: readonly string[];
  /** Reports progress, even if stderr is not a terminal. */
  readonly verbose?: true;
}

/**
 * Runs a program and returns the exit code of the command.
 * @param file the program, `-` for stdin
 */
export async function run(file: string, options: RunOptions): Promise<number> {
  await enterOwnUsers(serviceNamedBy(options));
  const tools = commandTools(options.tool);
  const program = await readSubmission(file, { ...pipedInput(file, options), ...options });
  using interrupts = takeInterrupts();
  await using service = serviceNamedBy(options) ?? (await ownService(options));
  const { client, patient } = service;
  if (interrupts.asked.aborted) return EXIT.cancelled;
  const stored = await unlessInterrupted(interrupts.asked, async (signal) => {
    const session = options.session === undefined ? null : await client.session(options.session, { signal });
    const submission = withTools(asStep(program, session), tools);
    const { job_id, interaction } = await submitted(submission, client, { ...options, signal }).catch(
      async (error: unknown) => {
        throw await refusalInFlags(error, { file, options }, client);
      },
    );
    return { session, submission, job_id, interaction };
  });
  if (stored === null) {
    note('interrupted before the service had answered');
    return EXIT.cancelled;
  }
  const { session, submission, job_id, interaction } = stored;
  if (options.verbose) note(`job ${job_id}`);
  const lost = cancelWhen(interrupts.asked, patient, job_id);
  const code = await unlessInterrupted(lost, async (signal) => {
    const peer = interaction?.peer ?? null;
    const { limits } = submission;
    const finishing = finish({ client: patient, adviser: client, job_id, peer, session, options, limits, signal });
    const answering = submission.tools && answered(tools, service, { job_id, signal });
    return (await Promise.all([finishing, answering]))[0];
  });
  return code ?? EXIT.notRun;
}

function withTools<Submission extends JobSubmission>(submission: Submission, tools: RunTools): Submission {
  const described = Object.keys(tools).map((name) => ({ name }));
  return described.length === 0 ? submission : { ...submission, tools: described };
}

/** Answers the program's tool calls. If they cannot be answered, the job is cancelled. */
async function answered(
  tools: RunTools,
  { client, patient }: ServiceAccess,
  { job_id, signal }: { readonly job_id: string; readonly signal: AbortSignal },
): Promise<void> {
  try {
    await patient.answerToolCalls(job_id, { tools, signal });
  } catch (error) {
    if (!signal.aborted) await client.cancel(job_id).catch(() => undefined);
    throw error;
  }
}

type Submitting = RunOptions & { readonly signal: AbortSignal };

/** The key that identifies a submission, and the signal that breaks it off. */
interface SubmissionCall {
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

async function submitted(submission: JobSubmission, client: ServiceClient, options: Submitting) {
  const { promise, promiseFile, libraries, signal } = options;
  const named = libraries === undefined ? {} : { libraries: await namedLibraries(libraries, client, { signal }) };
  const body = { ...(await withUploads(submission, client, { signal })), ...named };
  signal.throwIfAborted();
  const call = { idempotencyKey: randomUUID(), signal };
  const isPromised = promise || promiseFile !== undefined;
  try {
    return await (isPromised ? promised(body, client, { file: promiseFile, ...call }) : client.submit(body, call));
  } catch (error) {
    if (signal.aborted) {
      await abandon(isPromised ? { ...body, promise: true } : body, client, call).catch((failed: Error) =>
        note(`the program may run all the same, because its job could not be cancelled: ${failed.message}`),
      );
    }
    throw error;
  }
}

/** How long to wait for each answer after the command was interrupted. */
const lastMilliseconds = 5000;

/** Cancels the job that an interrupted submission may have created. The submission's key identifies the job. */
async function abandon(
  body: JobSubmission,
  client: ServiceClient,
  { idempotencyKey }: Pick<SubmissionCall, 'idempotencyKey'>,
): Promise<void> {
  const soon = () => ({ signal: AbortSignal.timeout(lastMilliseconds) });
  const { job_id } = await client.submit(body, { idempotencyKey, ...soon() });
  await client.cancel(job_id, soon());
}

/** Waits for the job's promise. If none comes, cancels the job, because nobody will wait for its result. */
async function promised(
  body: JobSubmission,
  client: ServiceClient,
  { file, ...call }: SubmissionCall & { readonly file: string | undefined },
): Promise<Submitted> {
  let job_id: string | null = null;
  try {
    const accepted = await client.submit(body, { promise: 'required', ...call });
    ({ job_id } = accepted);
    if (file !== undefined && accepted.promise !== null) writeNew(file, accepted.promise.bytes, '--promise-file');
    return accepted;
  } catch (error) {
    job_id ??= (error as { readonly job_id?: string | null }).job_id ?? null;
    if (job_id !== null) await client.cancel(job_id).catch(() => undefined);
    throw error;
  }
}

/** Input piped to this command becomes the program's stdin, unless the input is the program's source or an option gives stdin. */
function pipedInput(file: string, { interactor }: RunOptions): Pick<SubmissionOptions, 'stdin'> {
  return file !== '-' && interactor === undefined && isPiped() ? { stdin: '-' } : {};
}

function serviceNamedBy({ local, ...options }: RunOptions): ServiceAccess | null {
  if (!local) return namedService(options) ?? withoutSession(options);
  if (options.url === undefined && options.profile === undefined) return withoutSession(options);
  throw new UsageError('--local starts a service, and --url or --profile names another; give one of them');
}

/** Refuses `--session` if the service is started for this run, because the session would end with that service. */
function withoutSession({ session }: RunOptions): null {
  if (session === undefined) return null;
  throw new UsageError(
    '--session needs a service that keeps running: name one by --url, --profile or `vouchbox login`',
  );
}

/** Starts a service. Its code is loaded only if no service is named. */
async function ownService({ verbose }: RunOptions): Promise<ServiceAccess> {
  if (verbose || process.stderr.isTTY) note('starting a service for this run …');
  const { openEmbeddedService } = await import('./service/embedded-service.ts');
  return openEmbeddedService();
}

interface Started {
  readonly client: ServiceClient;
  /** A client that is used only for advice. If the service does not answer soon, there is no advice. */
  readonly adviser: ServiceClient;
  readonly job_id: string;
  /** The job of the program's interactor; null if there is none. */
  readonly peer: string | null;
  readonly session: ProgramSession | null;
  readonly options: RunOptions;
  readonly limits: JobSubmission['limits'];
  /** Aborts everything that waits for the job. */
  readonly signal: AbortSignal;
}

/** Follows the job to its end and fetches its outputs. A pattern may match nothing, but an output with a name must come back. */
async function finish(started: Started): Promise<number> {
  const { client, adviser, job_id, peer, session, options, limits, signal } = started;
  const { libraries, wholeStdout } = options;
  const remarks = new Remarks(adviser, { limits, libraries, wholeStdout });
  const finished = await follow(started, remarks);
  const interactor = peer === null ? null : await interactorEnd(started, peer);
  const wanted = wantedOutputs(options.output);
  const large = wantedOutputs(options.largeOutput ?? []);
  const isAsked = wanted.length + large.length > 0 || wholeStdout !== undefined || options.json || session !== null;
  const whole = isAsked ? await client.result(job_id, { signal }) : null;
  const step = session === null || whole === null ? null : { ...(await settled(whole, session)), session };
  const result = step?.result ?? whole;
  const parts = [
    await writeOutputs(wanted, result?.artifacts ?? []),
    await fetchOutputs(large, result?.large_outputs ?? [], client, { signal }),
  ];
  if (wholeStdout !== undefined && result !== null)
    parts.push(await fetchStdout({ path: STDOUT_FILE, target: wholeStdout }, result, client, { signal }));
  const outputs = {
    written: parts.flatMap(({ written }) => written),
    missing: parts.flatMap(({ missing }) => missing),
  };
  for (const { path, isPattern } of outputs.missing) {
    if (!remarks.has(path)) note(isPattern ? `no file came back for ${path}` : `${path} did not come back`);
  }
  for (const line of step === null ? [] : sessionRemarks(step.session, step.outcome)) note(line);
  if (options.json && result !== null) {
    const { artifacts: _, ...rest } = result;
    const stood = step !== null && { session: { name: step.session.name, ...step.outcome } };
    const ended = { ...rest, ...finished, ...(interactor !== null && { interactor }), ...stood };
    printResult(options, '', { ...ended, ...viewOf(outputs), ...(await ranAs(started, remarks)) });
  }
  const code = exitCodeOf(finished);
  if (code === EXIT.ok && interactor !== null && interactor.status !== 'succeeded') return EXIT.failed;
  const isShort = step?.outcome.moved === false || remarks.lost || outputs.missing.some(({ isPattern }) => !isPattern);
  return code === EXIT.ok && isShort && !options.allowMissing ? EXIT.failed : code;
}

/** Waits until the interactor ends, and reports how it ended unless it succeeded. */
async function interactorEnd({ client, job_id, options, signal }: Started, peer: string) {
  const { status, exit_code, stderr } = await client.waitForResult(peer, { signal });
  const { terminal_reason, receipt } = await client.detail(peer, { signal });
  const end = receipt?.interaction?.end ?? null;
  if (!options.json) {
    for (const line of stderr.split('\n')) if (line !== '') note(`interactor: ${printable(line)}`);
    if (status !== 'succeeded')
      note(`the interactor ${exit_code === null ? `ended: ${terminal_reason}` : `exited with ${exit_code}`} (${peer})`);
    if (end === 'deadlock') note(`both programs waited for input (${job_id})`);
  }
  return { job_id: peer, status, exit_code, terminal_reason, end };
}

/** Shows the job's output until the job ends. Then shows how the job ended, unless the program ended by itself. */
async function follow(
  { client, job_id, session, options, signal }: Started,
  remarks: Remarks,
): Promise<EventData<'finished'>> {
  for await (const event of client.follow(job_id, { signal })) {
    if (!options.json) await showOutput(event, process, options.raw ? 'raw' : 'safe');
    if (session === null || !isOfSession(event)) for (const line of await remarks.on(event)) note(line);
    if (event.kind === 'finished') return event.data as EventData<'finished'>;
  }
  throw new Error('the history ended before the job did');
}

/** The isolation and the limits under which the program ran, under the names that the other clients use. */
async function ranAs({ client, job_id, signal }: Started, { effective }: Remarks) {
  const { effective_spec, networking, receipt_sha256 = null } = await client.detail(job_id, { signal });
  return { isolation_class: effective_spec?.isolation_class ?? null, networking, effective, receipt_sha256 };
}

function viewOf({ written, missing }: WrittenOutputs) {
  return { outputs: written, missing: missing.map(({ path }) => path) };
}

/**
 * Cancels the job at the first interrupt. The job then ends, and so does the command. Returns a signal that aborts if the
 * service does not soon accept the cancellation: then nothing is known about the job, and it may go on.
 */
function cancelWhen(asked: AbortSignal, client: ServiceClient, job_id: string): AbortSignal {
  const controller = new AbortController();
  const cancel = () => {
    client.cancel(job_id, { signal: AbortSignal.timeout(lastMilliseconds) }).catch((error: Error) => {
      note(`the job may go on, because it could not be cancelled: ${error.message}`);
      note(`end it once the service is back: vouchbox jobs cancel ${job_id}`);
      controller.abort();
    });
  };
  if (asked.aborted) cancel();
  else asked.addEventListener('abort', cancel, { once: true });
  return controller.signal;
}
