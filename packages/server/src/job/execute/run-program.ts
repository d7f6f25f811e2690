/**
 * The steps of every job once its row says `running`: release, execute, end. The cell is taken down while the end is
 * being stored, so that the job's slot need not wait for the disk.
 */

import { PRODUCT_FILES, type RequestedSpec, STDIN, type StoredFile } from '@vouchbox/protocol';
import type { JobMemory } from '../../capacity/job-memory.ts';
import {
  type HeldLimits,
  type InputContent,
  type InteractionSide,
  type LargeRequest,
  type LoadedCell,
  NotGiven,
  NotKept,
  type Posture,
  type PreparedCell,
  type Program,
} from '../../sandbox/sandbox.ts';
import { blobNameOf, digestOf, isNamed, type NamedFile } from '../../store/blobs/blobs-named.ts';
import { Kept } from '../../store/kept/kept.ts';
import type { ExecutionRecord, JobKey } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { OutputKeeping } from '../artifact-content.ts';
import type { Beside } from '../beside.ts';
import { blobContent } from '../blob-content.ts';
import { type Ended, finish } from '../finish/finish.ts';
import { errorOutcome, type Outcome, outcomeOf } from '../finish/outcome.ts';
import { persistently } from '../finish/persistently.ts';
import type { History } from '../history.ts';
import type { SchemaChecks } from '../tools/schema-checks.ts';
import type { Cells } from './cells.ts';
import type { JobClock } from './clock.ts';
import { type Execution, execute } from './execute.ts';
import type { Control } from './launched-job.ts';

export interface JobDependencies {
  readonly blobs: OutputKeeping;
  readonly store: Pick<Store, 'job' | 'blob' | 'blobPiece'>;
  readonly history: History;
  readonly cells: Cells;
  readonly schemas: Pick<SchemaChecks, 'misfit'>;
  /** The signed members that stand beside a job's receipt. Absent if there are none. */
  readonly beside?: Beside;
  readonly log: Log;
  readonly memory: JobMemory;
  /** The contents of products that were read lately and had the right digests. */
  readonly products: ReturnType<typeof keptProducts>;
  /** Aborts when the process gives up storing the remaining events. */
  readonly giveUp: AbortSignal;
}

/** The data that a job's steps share. */
export interface JobContext extends JobDependencies {
  readonly key: JobKey;
  readonly created_at: string;
  readonly spec: RequestedSpec;
  readonly clock: JobClock;
  readonly control: Control;
  /** The connection to another job's program, if this job's program talks to one. */
  readonly interaction?: InteractionSide;
}

/** A cell that holds a job's program, and the job's data at its start. */
interface Startable {
  readonly cell: PreparedCell;
  readonly loaded: LoadedCell;
  readonly execution: ExecutionRecord;
}

/**
 * Lets the program run and stores the job's end. The program is released before the first `await`. Rejects if the process
 * gave up before the end was stored.
 */
export async function runProgram(context: JobContext, { cell, loaded, execution }: Startable): Promise<void> {
  const { control, beside, key } = context;
  // The job was stopped while its start was being stored, so it ends before its program runs a single instruction.
  if (control.cause !== null) {
    const outcome = outcomeOf({ kind: 'stopped', cause: control.cause });
    return await end(context, { outcome, duration_ms: 0, execution, collection: null });
  }
  const running = execute({ ...context, loaded });
  beside?.used(execution, key);
  const run = await running;
  report(context, run);
  const gone = takeDown(cell, context);
  const mayWait = control.makesNext();
  await end(context, {
    outcome: outcomeOfRun(run),
    duration_ms: run.duration_ms,
    execution,
    collection: run.collection,
    unstored: run.unstored,
    mayWait,
  });
  await gone;
}

/** Takes down a cell, whatever step its job has reached, and frees the slot. Never rejects. */
export async function takeDown(cell: PreparedCell, { control, log, key }: JobContext): Promise<void> {
  control.isLeaving = true;
  try {
    await cell[Symbol.asyncDispose]();
  } catch (error) {
    log.error({ err: error, job_id: key.job_id }, 'a cell could not be taken down');
  }
  control.free();
}

/** Stores a job's end, whether or not the job ran. Rejects only if the process gave up. */
export async function end(
  { history, log, key, clock, giveUp, beside }: Omit<JobContext, 'spec'>,
  ended: Omit<Ended, 'key' | 'finished_at' | 'also'>,
): Promise<void> {
  const also = beside?.of(ended.execution, key);
  const whole = { ...ended, key, finished_at: clock.timestamp(), ...(also !== undefined && { also }) };
  const isStored = await finish(whole, { history, log, signal: giveUp });
  const { status, terminal_reason } = ended.outcome;
  const { duration_ms } = ended;
  if (isStored) log.info({ ...key, status, terminal_reason, duration_ms }, 'a job ended');
}

/** The outcome of a run. A gap in the record makes it a failure of the service, however the program ended. */
function outcomeOfRun({ collection, recording, failure }: Execution): Outcome {
  const isOurs = recording.kind === 'failed' || failure instanceof NotKept || failure instanceof NotGiven;
  if (isOurs) return errorOutcome('internal_error');
  return collection === null ? errorOutcome('runtime_failed') : outcomeOf(collection.ending);
}

function report({ log, key }: JobContext, { failure, recording, collection }: Execution): void {
  const { job_id } = key;
  if (recording.kind === 'failed') log.error({ err: recording.error, job_id }, 'output could not be recorded');
  if (collection === null) log.error({ err: failure, job_id }, 'a cell could not be collected');
  else if (collection.ending.kind === 'runtime_failed') {
    log.error({ job_id, reason: collection.ending.message }, 'the runtime failed');
  }
}

/** A job's program. Named files are read from the store at the hand-over, and a named stdin while the program reads it. */
export function programOf(context: Omit<JobContext, 'clock'>): Program {
  const { spec, key, store, interaction, control } = context;
  const product = spec.product && productIn(spec.files);
  const contentOf = (file: StoredFile) =>
    isNamed(file) ? namedContent(store, key.tenant, file) : Buffer.from(file.content_base64, 'base64');
  return {
    language: spec.language,
    code: spec.code,
    stdin:
      spec.named_stdin === undefined
        ? spec.stdin
        : namedContent(store, key.tenant, { path: STDIN, ...spec.named_stdin }),
    args: spec.args,
    env: spec.env,
    files: spec.files.filter((file) => file !== product).map((file) => ({ path: file.path, content: contentOf(file) })),
    outputs: spec.outputs,
    ...(spec.large_outputs !== undefined && { large: { ...spec.large_outputs, keep: keeperOf(context) } }),
    limits: spec.limits,
    ...(spec.build !== undefined && { compilerOptions: spec.build.options }),
    ...(product !== undefined && { product: isNamed(product) ? productContent(context, product) : contentOf(product) }),
    ...(interaction !== undefined && { interaction }),
    ...(control.tools !== null && { tools: control.tools }),
  };
}

/** @throws Error unless there is exactly one product, because the receipt must name the file that is started */
function productIn(files: readonly StoredFile[]): StoredFile {
  const [product, ...others] = files.filter(({ path }) => path === PRODUCT_FILES.input);
  if (product === undefined || others.length > 0) throw new Error('the job must have exactly one product');
  return product;
}

/** How often storing a piece of a large output is tried before the job ends as an error: about 3 seconds with the pauses. */
const pieceAttemptsMax = 6;

function keeperOf({ key, blobs, log, giveUp }: Omit<JobContext, 'control' | 'clock'>): LargeRequest['keep'] {
  const failed = (error: unknown) =>
    log.error({ err: error, job_id: key.job_id }, 'a piece of an output could not be stored');
  return (place, chunks) =>
    blobs.keepOutput(key, place, {
      chunks,
      retry: (write) => persistently(write, { signal: giveUp, attemptsMax: pieceAttemptsMax, failed }),
    });
}

async function* namedContent(
  store: JobDependencies['store'],
  tenant: string,
  file: NamedFile,
): AsyncGenerator<Uint8Array> {
  const found = await store.blob({ tenant, sha256: blobNameOf(file) });
  if (found === null) throw new Error(`the blob of ${file.path} was removed`);
  yield* blobContent(store, { tenant, sha256: digestOf(file), ...found });
}

const productBytesMax = 4 * 2 ** 20;

/** The contents of products, keyed by tenant and name. They are kept because the next tests start the same product again. */
export function keptProducts() {
  return new Kept<Uint8Array>({ sizeMax: productBytesMax, sizeOf: ({ length }) => length });
}

/** A product's content. A job that names a missing product is not accepted, so it never runs. */
function productContent(
  context: Pick<JobContext, 'store' | 'key' | 'products'>,
  file: NamedFile,
): InputContent['content'] {
  const name = `${context.key.tenant} ${blobNameOf(file)}`;
  return context.products.get(name) ?? readProduct(context, { file, name });
}

async function* readProduct(
  { store, key: { tenant }, products }: Pick<JobContext, 'store' | 'key' | 'products'>,
  { file, name }: { readonly file: NamedFile; readonly name: string },
): AsyncGenerator<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of namedContent(store, tenant, file)) {
    size += piece.length;
    if (size <= productBytesMax) pieces.push(piece);
    yield piece;
  }
  if (size <= productBytesMax) products.keep(name, Buffer.concat(pieces));
}

export function executionRecord({ posture, held }: { posture: Posture; held: HeldLimits }): ExecutionRecord {
  return { ...posture, ...held };
}
