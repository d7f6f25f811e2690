/**
 * Stores a request as a row, on disk before the client is answered, or refuses it and stores nothing.
 * Spec § POST /v1/jobs.
 */
import {
  ERRORS,
  inputsOf,
  LIMIT_DEFAULTS,
  type RequestedLimits,
  type RequestedSpec,
  type StoredFile,
  type StoredStdin,
  type SubmissionAnswer,
} from '@vouchbox/protocol';
import type { Caller } from '../../ground/caller.ts';
import { ServiceError } from '../../ground/service-error.ts';
import { isOutput } from '../../store/blobs/blobs-named.ts';
import type { AdmitResult } from '../../store/records/answers.ts';
import type { GradedJob } from '../../store/records/inputs.ts';
import type { ListPlace } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { Cells } from '../execute/cells.ts';
import type { Submission } from '../jobs.ts';
import { shuttingDown } from '../refusals.ts';
import { type Executor, fitOf, fitOfBoth } from './fit.ts';
import {
  blobUnavailable,
  type CopyOptions,
  copyOutputs,
  type Resolved,
  resolvedFiles,
  resolvedProduct,
  resolvedStdin,
} from './named-inputs.ts';
import { nextPlace } from './next-place.ts';
import { clampLimits, type ProviderFacts } from './policy.ts';
import { notOffered, type PromiseSettings, promised } from './promised.ts';
import { sessionElsewhere } from './session-step.ts';
import { INTERACTOR, type ParsedProgram, parseSubmission } from './submission.ts';
import { answerOf } from './submission-answer.ts';

export interface AdmitOptions extends CopyOptions {
  readonly store: CopyOptions['store'] & Pick<Store, 'findByIdempotencyKey' | 'specDigest' | 'inputs' | 'productOf'>;
  /** Stores a submission, and starts its job at once if it can. */
  readonly dispatcher: Pick<Dispatcher, 'admit'>;
  /** This node's abilities, and whether this node can make cells now; null if it runs no programs. */
  readonly own: {
    readonly provider: ProviderFacts;
    readonly health: Pick<Cells, 'isReady'>;
    readonly room: { readonly concurrency: number; readonly concurrentMemMbMax: number };
  } | null;
  /** The other living nodes that run jobs. */
  readonly others: () => readonly Executor[];
  readonly ceilings: RequestedLimits;
  readonly queue: { readonly total: number; readonly perTenant: number };
  /** The limit for all blobs of a tenant together. */
  readonly blobBytesMax: number;
  /** Whether a signed statement says which position its job has in the tenant's sequence of jobs. */
  readonly isNumbered: boolean;
  /** The jobs that get promises, and how long the log may take; null if no log is kept. */
  readonly promises: PromiseSettings | null;
  /** Throws `insufficient_storage` while the free-space reserve is not free. */
  readonly checkFreeSpace: () => void;
  /** Aborts when the service stops. */
  readonly shutdown: AbortSignal;
}

export interface Admitted {
  readonly answer: SubmissionAnswer;
  readonly replayed: boolean;
}

/** After how many seconds a full queue may have room again. A job takes seconds. */
const queueRetrySeconds = 1;
/** After how many seconds a tenant may have room again. Outputs are removed only together with their jobs. */
const roomRetrySeconds = 60;
/** After how many seconds cells may be made again. A host takes a while to repair, and trials come at most once a second. */
const workerRetrySeconds = 5;

/**
 * Admits a tenant's submission. If its key was used before for the same specification, the first job is returned, even if the
 * ceilings, the provider or the queue have changed since then. A refused submission does not use up its key.
 *
 * @throws ServiceError as `parseSubmission`, `resolvedFiles`, `copyOutputs` and `checkPolicy` do; `idempotency_key_reused`,
 * `insufficient_storage`, `worker_unavailable`, `queue_full`, `tenant_capacity_exhausted`, `shutting_down`; `unauthorized` if
 * the authority ended meanwhile.
 */
export async function admit(caller: Caller, submission: Submission, options: AdmitOptions): Promise<Admitted> {
  if (options.shutdown.aborted) throw shuttingDown();
  const { tenant } = caller;
  const key = submission.idempotencyKey;
  const { interactor: other, ...parsed } = parseSubmission(submission.body);
  const program = await resolvedProgram(answeredBy(caller, parsed), { caller, key, at: '' }, options);
  const interactor = other ? await resolvedProgram(other, { caller, key, at: INTERACTOR }, options) : null;
  const asked: Keyed = { tenant, key, program, interactor };
  const { idempotency, earlier } = await lookedUp(asked, options);
  if (earlier !== null) {
    await submission.checkAuthority?.();
    if (!(await isSame(asked, { idempotency, earlier }, options))) throw keyReused();
    return { answer: answerOf(earlier.job, earlier.peer), replayed: true };
  }
  if (program.spec.promise && options.promises === null) throw notOffered();
  const limited = withFittingLimits({ program: program.spec, interactor: interactor?.spec ?? null }, options);
  options.checkFreeSpace();
  await copyAll(asked, options);
  await submission.checkAuthority?.();
  const now = Date.now();
  const places = [nextPlace(now), nextPlace(now)] as const;
  const jobs = jobsOf(limited, places);
  const result = await options.dispatcher.admit({
    tenant,
    ...places[0],
    ...jobs,
    idempotency,
    principal: caller.principal,
    ...(await buildDigest(tenant, limited.program, options)),
    queueMax: options.queue.total,
    tenantQueueMax: options.queue.perTenant,
    blobBytesMax: options.blobBytesMax,
    isNumbered: options.isNumbered,
    ...promised(limited.program, now, options),
  });
  if (result.kind === 'grading_over') throw new Error('no grading makes this job');
  if (result.kind === 'session_conflict') throw sessionElsewhere(result.found, limited.program.language);
  return admitted(result, 'interactor' in jobs ? jobs.interactor.job_id : null);
}

/** The principal that submits a job may answer its tools. */
function answeredBy({ principal }: Caller, program: ParsedProgram): ParsedProgram {
  if (program.tools === undefined) return program;
  const answered_by = [...new Set([principal, ...program.tools.answered_by])];
  return { ...program, tools: { ...program.tools, answered_by } };
}

/** A job made by a grading. Unlike other jobs, it has no key and no place of its own in the queue. */
export interface GradedSubmission {
  readonly tenant: string;
  /** Who sent the grading. */
  readonly principal: string;
  readonly spec: RequestedSpec;
  /** The specification of the other program, if the job's program talks to one. */
  readonly interactor?: RequestedSpec;
  readonly graded: GradedJob;
  /** As in `Dispatcher.admit`. */
  readonly makesNext: () => boolean;
}

/**
 * Stores a grading's job, or finds it if it was stored before. Null if the grading makes no more jobs.
 *
 * @throws ServiceError as `admit` does; NoRoom
 */
export async function admitGraded(
  { tenant, principal, spec, interactor, graded, makesNext }: GradedSubmission,
  options: Pick<
    AdmitOptions,
    'dispatcher' | 'own' | 'others' | 'ceilings' | 'blobBytesMax' | 'isNumbered' | 'promises' | 'checkFreeSpace'
  > & {
    readonly store: Pick<Store, 'specDigest'>;
  },
): Promise<string | null> {
  const limited = withFittingLimits({ program: spec, interactor: interactor ?? null }, options);
  options.checkFreeSpace();
  const now = Date.now();
  const places = [nextPlace(now), nextPlace(now)] as const;
  const result = await options.dispatcher.admit(
    {
      tenant,
      principal,
      ...places[0],
      ...jobsOf(limited, places),
      idempotency: null,
      ...(await buildDigest(tenant, limited.program, options)),
      graded,
      queueMax: Number.MAX_SAFE_INTEGER,
      tenantQueueMax: Number.MAX_SAFE_INTEGER,
      blobBytesMax: options.blobBytesMax,
      isNumbered: options.isNumbered,
      ...promised(limited.program, now, options),
    },
    makesNext,
  );
  if (result.kind === 'session_conflict') throw new Error('a job of a grading is no step');
  if (result.kind === 'full' && result.of === 'kept blobs') throw new NoRoom(NO_ROOM);
  return result.kind === 'grading_over' ? null : admitted(result, null).answer.job_id;
}

/** A submission's program with the contents of its files. Standard input that names stored bytes counts as a file. */
interface ResolvedProgram {
  readonly spec: RequestedSpec;
  readonly files: readonly Resolved[];
}

async function resolvedProgram(
  { product, named_stdin: stdin, ...program }: ParsedProgram,
  asked: Omit<Parameters<typeof resolvedFiles>[0], 'files'>,
  options: AdmitOptions,
): Promise<ResolvedProgram> {
  const built = product && (await resolvedProduct(product, { ...asked, program }, options));
  const files = await resolvedFiles({ ...asked, files: program.files }, options);
  const made = built !== undefined && { product: built };
  const spec = { ...program, files: files.map(({ file }) => file), ...made };
  if (stdin === undefined) return { spec, files };
  const input = await resolvedStdin({ ...asked, stdin }, options);
  return { spec: { ...spec, named_stdin: stdinOf(input.file) }, files: [...files, input] };
}

function stdinOf(file: StoredFile): StoredStdin {
  const { path: _, ...named } = file;
  return named as StoredStdin;
}

/**
 * The digest of the parts that equal builds share: the program, its options, and the runtime packs that may build it.
 * Limits are not covered.
 */
async function buildDigest(
  tenant: string,
  spec: RequestedSpec,
  options: Pick<AdmitOptions, 'own' | 'others' | 'ceilings'> & { readonly store: Pick<Store, 'specDigest'> },
): Promise<{ readonly build_sha256?: string }> {
  if (spec.build === undefined) return {};
  const { store, own, others, ceilings } = options;
  const packs = [...executorOf(own, ceilings), ...others()].flatMap(({ runtime_packs }) => runtime_packs);
  const able = packs.filter(({ languages }) => languages.includes(spec.language)).map(({ digest }) => digest);
  const runtime = [spec.runtime ?? '', ...new Set(able.toSorted())].join(' ');
  const alike = { ...spec, runtime, limits: LIMIT_DEFAULTS };
  const build_sha256 = await store.specDigest({ tenant, spec: alike, filesBy: 'digests' });
  return build_sha256 === null ? {} : { build_sha256 };
}

interface Keyed {
  readonly tenant: string;
  /** Null if the client sent none. */
  readonly key: string | null;
  readonly program: ResolvedProgram;
  /** Null if the submission has none. */
  readonly interactor: ResolvedProgram | null;
}

interface Specs {
  readonly program: RequestedSpec;
  readonly interactor: RequestedSpec | null;
}

/** The specifications with the limits that the jobs get on a node that can run them. */
export function withFittingLimits(
  { program, interactor }: Specs,
  { own, ceilings, others }: Pick<AdmitOptions, 'own' | 'ceilings' | 'others'>,
): Specs {
  const [first, ...more] = [...executorOf(own, ceilings), ...others()];
  // An executor that starts later may be able to run the job, so this refusal invites the client to try again.
  if (first === undefined) throw workerUnavailable('No node that runs programs is alive.');
  const executors = [first, ...more] as const;
  const { isReady, memMbMax } =
    interactor === null ? fitOf(program, executors) : fitOfBoth([program, interactor], executors);
  if (!isReady) throw workerUnavailable('No cell can be made at present.');
  const bounds = { ...ceilings, mem_mb: Math.min(ceilings.mem_mb, memMbMax) };
  const limited = (spec: RequestedSpec) => ({ ...spec, limits: clampLimits(spec.limits, bounds) });
  return { program: limited(program), interactor: interactor && limited(interactor) };
}

function executorOf(own: AdmitOptions['own'], { mem_mb: memMbMax }: RequestedLimits): readonly Executor[] {
  if (own === null) return [];
  const { languages, runtime_packs, isolation_class, enforced } = own.provider;
  const { concurrency: slots, concurrentMemMbMax } = own.room;
  const isReady = own.health.isReady();
  const facts = { languages, runtime_packs, isolation_class, ...(enforced !== undefined && { enforced }) };
  return [{ ...facts, memMbMax, slots, concurrentMemMbMax, isReady }];
}

/** What is stored of a job or a pair. In a pair, each specification begins with the other job's id, for the store to find. */
function jobsOf({ program, interactor }: Specs, [one, other]: readonly [ListPlace, ListPlace]) {
  if (interactor === null) return { requested_spec: program };
  return {
    requested_spec: { interaction: { peer: other.job_id, role: 'program' as const }, ...program },
    interactor: {
      job_id: other.job_id,
      requested_spec: { interaction: { peer: one.job_id, role: 'interactor' as const }, ...interactor },
    },
  };
}

async function copyAll({ tenant, program, interactor }: Keyed, options: AdmitOptions): Promise<void> {
  await copyOutputs(tenant, [...program.files, ...(interactor?.files ?? [])], options);
}

type Earlier = NonNullable<Awaited<ReturnType<Store['findByIdempotencyKey']>>>;

/** The values that the digest of a submission covers. */
function digested({ tenant, program, interactor }: Keyed) {
  return { tenant, spec: program.spec, ...(interactor !== null && { interactor: interactor.spec }) };
}

function filesOf({ program, interactor }: Keyed): readonly StoredFile[] {
  return [...inputsOf(program.spec), ...(interactor === null ? [] : inputsOf(interactor.spec))];
}

/** The digest to store with the key, and the earlier job with this key. Both are read from the store at once. */
async function lookedUp(asked: Keyed, { store }: Pick<AdmitOptions, 'store'>) {
  const { tenant, key } = asked;
  if (key === null) return { idempotency: null, earlier: null };
  const filesBy = filesOf(asked).some(isOutput) ? 'digests' : 'content';
  const [spec_sha256, earlier] = await Promise.all([
    store.specDigest({ ...digested(asked), filesBy }),
    store.findByIdempotencyKey({ tenant, key }),
  ]);
  if (spec_sha256 === null) throw blobUnavailable();
  return { idempotency: { key, spec_sha256 }, earlier };
}

/**
 * Whether the earlier job with this key has the same specification. The stored digest may cover files and standard input
 * by their contents or by their digests, so both forms are compared. The first form needs the bytes.
 */
async function isSame(
  asked: Keyed,
  { idempotency, earlier }: { idempotency: { spec_sha256: string }; earlier: Earlier },
  options: AdmitOptions,
): Promise<boolean> {
  if (earlier.spec_sha256 === idempotency.spec_sha256) return true;
  const files = filesOf(asked);
  if (files.length === 0 && asked.program.spec.stdin === null) return false;
  const hasOutputs = files.some(isOutput);
  if (hasOutputs) await copyAll(asked, options);
  const other = await options.store.specDigest({
    ...digested(asked),
    filesBy: hasOutputs ? 'content' : 'digests',
  });
  return earlier.spec_sha256 === other;
}

/** Returns the answer to a submission, or throws its refusal. `peer` is the interactor's job, if there is one. */
function admitted(
  result: Exclude<AdmitResult, { kind: 'grading_over' | 'session_conflict' }>,
  peer: string | null,
): Admitted {
  switch (result.kind) {
    case 'created':
      return { answer: answerOf(result.job, peer), replayed: false };
    case 'replayed':
      return { answer: answerOf(result.job, result.peer), replayed: true };
    case 'key_reused':
      throw keyReused();
    case 'blob_unavailable':
      throw blobUnavailable();
    case 'full':
      throw full(result.of);
  }
}

type Lack = Extract<AdmitResult, { kind: 'full' }>['of'];
const NO_ROOM = 'The files of the tenant leave too little room for the large outputs of this job.';

/** Thrown if there is no room for a grading's job, and waiting would not help. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';
}

export function full(of: Lack): ServiceError {
  if (of === 'blobs' || of === 'kept blobs') {
    return new ServiceError('tenant_capacity_exhausted', NO_ROOM, { retryAfterSeconds: roomRetrySeconds });
  }
  if (of === 'sessions')
    return new ServiceError('tenant_capacity_exhausted', 'The principal has the most sessions that it may have.');
  const retry = { retryAfterSeconds: queueRetrySeconds };
  return of === 'queue'
    ? new ServiceError('queue_full', ERRORS.queue_full.meaning, retry)
    : new ServiceError('tenant_capacity_exhausted', 'The tenant has the most queued jobs that it may have.', retry);
}

function workerUnavailable(message: string): ServiceError {
  return new ServiceError('worker_unavailable', message, { retryAfterSeconds: workerRetrySeconds });
}

export function keyReused(what = 'job specification'): ServiceError {
  return new ServiceError('idempotency_key_reused', `The Idempotency-Key was used for another ${what}.`);
}
