/** Builds the service once, part by part, and stops its parts in the opposite order. */

import { createFreeSpaceReserve } from './capacity/free-space.ts';
import { createPermits } from './capacity/permits.ts';
import { openKnownSigning } from './facts/known-signing.ts';
import { IdleMemory } from './ground/idle-memory.ts';
import { StartError } from './ground/start-error.ts';
import { VERSION } from './ground/version.ts';
import type { StandingLoop } from './ground/waiting/standing-loop.ts';
import { listen } from './http/connections/listener.ts';
import type { LogKeeper, ReopenedLog } from './job/log/log-keeper.ts';
import { LogStopped } from './job/log/log-stopped.ts';
import type { Nudges } from './job/nudges.ts';
import { createObjectContents, type ObjectContents } from './job/object-contents.ts';
import { createObjectWork } from './job/objects/object-work.ts';
import { createRetention, type RetentionOptions } from './job/remove/retention.ts';
import { createBlobRemoval } from './job/remove/unused-blobs.ts';
import { membershipIn } from './membership.ts';
import { noticeReturn } from './objects/notice-return.ts';
import type { ObjectStore } from './objects/object-store.ts';
import { openObjectStore } from './objects/open-object-store.ts';
import { createCredentials } from './operator/credentials.ts';
import { type Instance, openInstance } from './operator/instance.ts';
import { OperatorError } from './operator/operator-error.ts';
import { OperatorSocket } from './operator/socket/operator-socket.ts';
import { type BuildDigests, readBuildDigests } from './sandbox/native/build-digests.ts';
import { type HttpApp, openCells, openHttp, openJobs } from './service-parts.ts';
import type { Config } from './settings/config.ts';
import { checkStoreDirectory, openDataDirectory } from './settings/data-directory.ts';
import { refusePartialRoles } from './settings/roles.ts';
import { openAccess } from './start/open-access.ts';
import { openBoth } from './start/open-both.ts';
import type { OpenSandbox } from './start/open-sandbox.ts';
import { openSigning } from './start/open-signing.ts';
import { openTelemetry, permitBoundsOf } from './start/open-telemetry.ts';
import { openWhenReachable } from './start/open-when-reachable.ts';
import { databasePath, openStore } from './store/open-store.ts';
import type { Store } from './store/store.ts';
import { StoreError } from './store/store-error.ts';
import { createLog, type Log } from './telemetry/log/log.ts';

/** A service that accepts connections. */
export interface RunningService extends AsyncDisposable {
  /** The address `http://HOST:PORT`, with the real port. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Whether any credential existed when the service started. */
  readonly hasCallers: boolean;
  /**
   * Resolves once this node can no longer change the store that it shares with other nodes. Its programs are then ended, and the
   * node must be stopped. Never resolves in a service that is alone.
   */
  readonly lost: Promise<Error>;
  /** Reads again the settings that may change without a restart, and logs the outcome. Never rejects. */
  reload(): Promise<void>;
  /**
   * Refuses new work, answers waits with `shutting_down`, gives running jobs a bounded time, and resolves when nothing is
   * left. Idempotent. Disposing does the same.
   */
  stop(): Promise<void>;
}

/** How much longer answers that are being sent may take once every job has ended. */
const closeMillisecondsMax = 1000;

export interface StartOptions {
  /** Whether a command starts the service for its own use. The service then has no operator, and does not log its limits. */
  readonly isEmbedded?: boolean;
  /** Ends a start that waits for its database. The start then rejects with the reason of this signal. */
  readonly stopAsked?: AbortSignal;
}

/**
 * Starts the service. Resolves once every language has run its canary, earlier jobs are recovered, and connections are accepted.
 *
 * @throws StartError, with one clear line. Nothing is then left running
 */
export async function startService(config: Config, options: StartOptions = {}): Promise<RunningService> {
  try {
    return await buildService(config, options);
  } catch (error) {
    // The operator sees why the store refused, whichever part asked the store.
    if (error instanceof StoreError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}

async function buildService(config: Config, { isEmbedded = false, stopAsked }: StartOptions): Promise<RunningService> {
  await using parts = new AsyncDisposableStack();
  const log = createLog(config.logLevel);
  const stopping = new AbortController();
  const { instance, store, sandbox } = await openGround(config, log, stopAsked);
  // The service's name is released only when no other part of the service is left.
  for (const part of [instance, store]) parts.use(part);
  parts.use(sandbox)?.logFindings(log);
  const membership = membershipIn(store);
  const { rows, nudges, ownNudges } = membership;
  const credentials = createCredentials(rows);
  const opened: { logKeeper: LogKeeper | null } = { logKeeper: null };
  const operated = { credentials, sandbox: sandbox ?? NO_SANDBOX, reopenLog: () => reopenedBy(opened.logKeeper), log };
  parts.use(await OperatorSocket.open({ dataDir: config.dataDir, ...operated }));
  const cells = sandbox === null ? null : openCells({ config, sandbox, nudges: ownNudges, log });
  if (cells !== null) parkNothingOnce(stopping.signal, parts.use(cells).parked);
  const outside = await openObjects({ config, nudges, log });
  const permits = createPermits(permitBoundsOf(config));
  const reserve = createFreeSpaceReserve({ directory: config.dataDir, reserveMb: config.freeSpaceReserveMb });
  const ground = { config, store, cells, ...outside, membership, reserve, log, stopping: stopping.signal };
  const telemetry = parts.use(await openTelemetry({ ...ground, permits, fleetFigures: membership.fleetFigures }));
  const signing = await openSigning({ config, store, nudges, log, ...membership.signingTurns });
  opened.logKeeper = parts.use(signing?.logKeeper) ?? null;
  parts.use(signing?.attestor);
  parts.use(signing?.promiseKeeper);
  const { known, keys } = await openKnownSigning({ config, store, signing, log });
  const removals = openRemovals({ ...ground, nudges, isOurTurn: () => membership.isFirst('api') });
  for (const loop of removals) parts.use(loop);
  // Parts are stopped in the opposite order. So HTTP outlives the dispatcher, and results can be read while jobs drain.
  const http = parts.use(new AsyncDisposableStack());
  const build = readingBuild(log);
  const shared = { ...ground, signing: known, keys, telemetry, build: build.known };
  const { jobs, gradings, blobs, dispatcher, canaries, startCanaries, grading, history, schemas } =
    await openJobs(shared);
  parts.use(schemas);
  // If a canary is running, the dispatcher ends it.
  parts.use(canaries);
  parts.use(dispatcher);
  parts.use(grading);
  const { access, hasCallers, reload } = await openAccess({ config, rows, log });
  const app = await openHttp({ ...shared, jobs, gradings, blobs, canaries, access, permits, isEmbedded });
  http.defer(() => closeHttp(app));
  const { host, port, url } = await listen(app, config);
  const isBuildRead = build.start();
  const { lost } = await membership.join(
    { config, cells, signing, dispatcher, canaries },
    { store, history, dispatcher, log },
  );
  // The dispatcher starts only once the port is open, because a start that fails must not have run a queued job.
  dispatcher.start();
  grading.start();
  // Canaries wait for the digests, because statements that name a canary have digests, and the canary must have them, too.
  void isBuildRead.then(() => {
    if (!stopping.signal.aborted) startCanaries();
  });
  parts.use(new IdleMemory());
  // An embedded service parks no cells: a command that ends soon would have to wait until cells are made that no job takes.
  const signers = [signing?.attestor, signing?.logKeeper, signing?.promiseKeeper];
  for (const loop of [isEmbedded ? null : cells?.parked, ...signers, ...removals]) loop?.start();
  const { backend = null, isolation_class = null } = cells?.provider ?? {};
  log.info({ url, version: VERSION, roles: config.roles, backend, isolation_class }, 'started');
  const stop = stopOnce(parts.move(), { stopping, log });
  return { url, host, port, hasCallers, lost, reload: () => reloading(reload, log), stop, [Symbol.asyncDispose]: stop };
}

/** Reads the digests of the service's files once the port is open. Jobs that end before that are signed without the digests. */
function readingBuild(log: Log): { readonly known: () => BuildDigests | null; readonly start: () => Promise<void> } {
  let read: BuildDigests | null = null;
  const start = () =>
    readBuildDigests().then(
      (digests) => {
        read = digests;
      },
      (error: unknown) =>
        log.warn({ err: error }, 'the files of this service cannot be read, so signed results lack their digest'),
    );
  return { known: () => read, start };
}

/** Stops parking once the service drains, so that the end of a job starts no new parked cell. */
function parkNothingOnce(stopping: AbortSignal, parked: AsyncDisposable): void {
  stopping.addEventListener('abort', () => void parked[Symbol.asyncDispose]());
}

/** The answer of a node that runs no programs to an operator who built a pack. */
const NO_SANDBOX = {
  takePacks: () =>
    Promise.reject(new OperatorError('this node runs no programs', { hint: 'ask a node with the role executor' })),
};

/** Opens the log's next tree. @throws OperatorError if this node cannot open a tree */
async function reopenedBy(logKeeper: LogKeeper | null): Promise<ReopenedLog> {
  if (logKeeper === null)
    throw new OperatorError('this node keeps no log', { hint: 'ask a node that signs, with SERVICE_LOG_HOST set' });
  try {
    return await logKeeper.reopen();
  } catch (error) {
    throw error instanceof LogStopped ? new OperatorError(error.message, { cause: error }) : error;
  }
}

async function reloading(reload: () => Promise<void>, log: Log): Promise<void> {
  try {
    await reload();
    log.info('reloaded');
  } catch (error) {
    log.error({ err: error }, 'a reload failed: the earlier keys are still used');
  }
}

/** Makes the service stop only once, however often it is asked to. */
function stopOnce(
  parts: AsyncDisposableStack,
  { stopping, log }: { stopping: AbortController; log: Log },
): () => Promise<void> {
  let stopped: Promise<void> | null = null;
  const stop = async () => {
    log.info('stopping');
    stopping.abort();
    await parts.disposeAsync();
    log.info('stopped');
  };
  return () => {
    stopped ??= stop();
    return stopped;
  };
}

/** Closes HTTP, after giving answers under way a moment to be sent. */
async function closeHttp(app: HttpApp): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), closeMillisecondsMax);
  await app.close();
  clearTimeout(timer);
}

/** Opens store and sandbox, the slowest steps, together. The store's threads load while code loads here and canaries run. */
async function openGround(config: Config, log: Log, stopAsked?: AbortSignal): Promise<Ground> {
  if (databasePath(config) !== null) refusePartialRoles(config.roles);
  await openDataDirectory(config.dataDir);
  await checkStoreDirectory(databasePath(config));
  using opening = new DisposableStack();
  const instance = opening.use(openInstance(config.dataDir, { makesCells: config.roles.includes('executor') }));
  const signal = stopAsked ?? new AbortController().signal;
  const opened = openWhenReachable(() => openStoreOf(config, instance, log), { log, signal });
  const [store, sandbox] = await openBoth(opened, openSandboxIfAny(config, instance));
  opening.move();
  return { instance, store, sandbox };
}

interface Ground {
  readonly instance: Instance;
  readonly store: Store;
  /** Null if this node runs no programs. */
  readonly sandbox: OpenSandbox | null;
}

function openStoreOf(config: Config, { id: instance }: Instance, log: Log): Promise<Store> {
  const { dataDir, databaseUrl, storeCheck: check } = config;
  const onProblem = (error: StoreError) => log.error({ err: error }, 'the store has a problem');
  return openStore({ dataDir, databaseUrl, check, instance, onProblem });
}

/** Opens the sandbox if this node runs programs. Other nodes ask nothing of the host, because they may have no rights there. */
function openSandboxIfAny(config: Config, instance: Instance): Promise<OpenSandbox | null> {
  return config.roles.includes('executor') ? openSandboxOf(config, instance) : Promise.resolve(null);
}

/** Opens the sandbox. Its slow modules load once the store's threads have work, so that other processors are busy, too. */
async function openSandboxOf(config: Config, { id }: Instance): Promise<OpenSandbox> {
  const [{ openSandbox }] = await Promise.all([import('./start/open-sandbox.ts'), import('./http/app.ts')]);
  return await openSandbox(config, id);
}

interface Retained extends Pick<RetentionOptions, 'log' | 'isOurTurn'> {
  readonly config: Config;
  readonly store: Store;
  readonly nudges: Nudges;
  readonly objectStore: ObjectStore | null;
}

/** Opens the object store, if there is one, and the contents in it. */
async function openObjects({ config, nudges, log }: Pick<Retained, 'config' | 'nudges' | 'log'>): Promise<Outside> {
  const opened = await openObjectStore(config.objectStore);
  const objectStore = opened && noticeReturn(opened, () => nudges.send('objects'));
  return { objectStore, objects: createObjectContents(objectStore, log) };
}

interface Outside {
  /** The object store; null if none is set. */
  readonly objectStore: ObjectStore | null;
  readonly objects: ObjectContents;
}

/** Opens the loops that remove what has been kept long enough. Jobs are kept forever unless the operator set a time. */
function openRemovals({ config, objectStore, ...options }: Retained): readonly StandingLoop[] {
  const { retentionDays: days, attestationMode, logHost } = config;
  const ofBlobs = createBlobRemoval({ ...options, keepMilliseconds: config.blobs.keepSeconds * 1000 });
  const loops = [ofBlobs];
  if (objectStore !== null && config.objectStore !== null) {
    const { bytesMin } = config.objectStore;
    loops.push(createObjectWork({ ...options, objects: objectStore, bytesMin }));
  }
  if (days === null) return loops;
  const unattested = attestationMode === 'off' ? 'removed' : logHost === null ? 'kept' : 'logged';
  return [...loops, createRetention({ ...options, days, unattested })];
}
