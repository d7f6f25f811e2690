/**
 * Brings a cell to the workload-ready boundary: confined, started, observed from outside, and still without any part of a job. If
 * a step fails, no part of the cell remains.
 */
import { rm } from 'node:fs/promises';
import { Workspace } from '../program/output/workspace.ts';
import { BootstrapError, NotReadyInTime, type Posture, unreadyPosture } from '../sandbox.ts';
import type { ObservedPosture } from './observe/observe.ts';
import type { CellOptions } from './runtime.ts';
import type { Boot, Start, WaitingCell } from './start.ts';

/** The memory that an interpreter may use before the hand-over. */
const BOOT_MEMORY_BYTES = 256 * 1024 * 1024;
const BOOT_PROCESSES = 64;
/** The most memory for the buffers of a job's Internet sockets, if the kernel does not count that memory for the cell's group. */
const SOCKET_BYTES = 16 * 1024 * 1024;
/** The share of the processors that a cell gets while no job waits for it and other cells want the processors too. */
const AHEAD_SHARE = 1 / 16;

/** A cell at the workload-ready boundary. */
export interface Bootstrapped {
  readonly start: Start;
  readonly cell: WaitingCell;
  readonly workspace: Workspace;
  readonly posture: Posture;
  /** Whether the cell still has its small first share of the processors, because no job waits for it. */
  readonly isAhead: boolean;
}

/** Rejects with `BootstrapError`. */
export async function bootstrap(options: CellOptions): Promise<Bootstrapped> {
  const { runtime } = options;
  const boot = bootOf(options);
  const progress: Progress = { step: 'bootstrap', start: null };
  using share = watchDemand(options, boot);
  try {
    const start = runtime.start(options, boot);
    progress.start = start;
    const cell = await inTime(start, options.readyMilliseconds);
    progress.step = 'observe';
    const posture = postureOf(options, cell.observe());
    return { start, cell, posture, workspace: new Workspace(cell.work, 'own'), isAhead: share.isSmall() };
  } catch (error) {
    await undone(options, progress.start);
    throw bootstrapFailure(options, { step: progress.step, error, said: progress.start?.said() ?? [] });
  }
}

interface Progress {
  step: string;
  start: Start | null;
}

/** A failure: the step at which it happened, the error, and what the cell printed. */
export interface CellFailure {
  readonly step: string;
  readonly error: unknown;
  readonly said: readonly string[];
}

/** The error for a cell that could not be made or could not take its program. The error's posture claims no protection. */
export function bootstrapFailure({ runtime }: CellOptions, { step, error, said }: CellFailure): BootstrapError {
  const { message: reason } = error as Error;
  const message = [reason, ...said.filter((text) => text !== '' && !reason.includes(text))].join(': ');
  return new BootstrapError(step, message, unreadyPosture(runtime.backend, runtime.identity), { cause: error });
}

function bootOf({ runtime, loopback, aheadUntil }: CellOptions): Boot {
  const { overhead, sharesHostKernel } = runtime;
  return {
    memoryBytes: BOOT_MEMORY_BYTES + overhead.memoryBytes,
    processes: overhead.processes(BOOT_PROCESSES),
    share: aheadUntil === undefined || aheadUntil.aborted ? 1 : AHEAD_SHARE,
    socketBytes: loopback && sharesHostKernel ? SOCKET_BYTES : null,
  };
}

/**
 * A cell made ahead of time yields the processors to cells with jobs until a job waits for it. While its group does not exist
 * (not yet, or no longer), its share cannot be raised; the cell then gets its whole share together with its job.
 */
function watchDemand({ aheadUntil, group }: CellOptions, { share }: Boot): Disposable & { isSmall(): boolean } {
  let isSmall = share !== 1;
  const giveWhole = (): void => {
    try {
      group.write(group.plan.toShare(1));
      isSmall = false;
    } catch {}
  };
  if (isSmall) aheadUntil?.addEventListener('abort', giveWhole, { once: true });
  return { isSmall: () => isSmall, [Symbol.dispose]: () => aheadUntil?.removeEventListener('abort', giveWhole) };
}

async function inTime(start: Start, milliseconds: number): Promise<WaitingCell> {
  const late = Promise.withResolvers<never>();
  const deadline = setTimeout(() => {
    late.reject(new NotReadyInTime(milliseconds));
    start.kill();
  }, milliseconds);
  try {
    return await Promise.race([start.ready, late.promise]);
  } finally {
    clearTimeout(deadline);
  }
}

function postureOf({ runtime, pack, hostPostureSha256 }: CellOptions, observed: ObservedPosture): Posture {
  return {
    bootstrap_ready: true,
    backend: runtime.backend,
    runtime_identity: runtime.identity,
    runtime_pack: { name: pack.name, version: pack.version, digest: pack.digest },
    host_posture_sha256: hostPostureSha256,
    ...observed,
  };
}

async function undone({ group, directory }: CellOptions, start: Start | null): Promise<void> {
  if (start !== null) return await start.end();
  await group.remove();
  await rm(directory, { recursive: true, force: true });
}
