/** Opens the part that runs programs: a provider that passes its preflight under the service's name on this host. */

import { blobBytesMax } from '@vouchbox/protocol';
import { StartError } from '../ground/start-error.ts';
import { sayReasons } from '../sandbox/classes/reasons.ts';
import type { TakenPacks } from '../sandbox/packs/load-packs.ts';
import { packsDirectoryOf } from '../sandbox/packs/packs-directory.ts';
import { hostPosture } from '../sandbox/prove/doctor/host-posture.ts';
import { NoProviderError, type Opened, openProvider } from '../sandbox/prove/preflight.ts';
import type { Provider } from '../sandbox/sandbox.ts';
import type { Config } from '../settings/config.ts';
import type { Log } from '../telemetry/log/log.ts';

/** An opened sandbox. Disposing it ends every cell. */
export interface OpenSandbox extends AsyncDisposable {
  readonly provider: Provider;
  /** Why stronger providers were passed over, in one line; null if none were. */
  readonly passedOver: string | null;
  /** Logs what an operator should know about the preflights. A start that fails prints only its reason. */
  logFindings(log: Log): void;
  /** Offers the packs that were built since the start or the last call, and logs them. */
  takePacks(log: Log): Promise<TakenPacks>;
}

/**
 * Opens the sandbox under this service's name on its host: see `openInstance`.
 *
 * @throws StartError if no provider can be used
 */
export async function openSandbox(config: Config, instance: string): Promise<OpenSandbox> {
  const opened = await provenProvider(config, instance);
  const { provider } = opened;
  return {
    provider,
    passedOver: passedOverOf(opened),
    logFindings: (log) => logFindings(opened, log),
    takePacks: (log) => takePacks(opened, log),
    [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose](),
  };
}

/** How many files of the largest size a job may write together, beside its input. */
const workFilesOfFullSize = 2;
/** The most bytes of a checker's inputs, the largest that any job gets: a test's input, its output, and the expected output. */
const checkedFilesBytesMax = 3 * blobBytesMax;

async function takePacks(opened: Opened, log: Log): Promise<TakenPacks> {
  const before = new Set(opened.provider.runtime_packs.map(({ name }) => name));
  const taken = await opened.takeNewPacks();
  for (const pack of taken.offered) {
    if (!before.has(pack.name)) log.info(pack, 'a runtime pack is offered from now on');
  }
  for (const leftOut of taken.leftOut) log.warn(leftOut, 'a runtime pack is not offered');
  return taken;
}

/** Proves a provider, and examines the host while canaries run. Jobs' cells are made later, and record the result. */
async function provenProvider(config: Config, instance: string): Promise<Opened> {
  let sha256: string | null = null;
  const posture = hostPostureDigest(config, instance);
  const provider = openProvider({
    choice: config.provider,
    namespaceLauncher: config.namespaceLauncher,
    gvisorStarter: config.gvisorStarter,
    loopback: config.loopback,
    instance,
    packsDirectory: packsDirectoryOf(config),
    workBytes: config.ceilings.max_file_mb * 2 ** 20 * workFilesOfFullSize + checkedFilesBytesMax,
    hostPostureSha256: () => sha256,
  });
  const [opened, found] = await Promise.allSettled([provider, posture]);
  if (opened.status === 'rejected') throw startErrorOf(opened.reason);
  if (found.status === 'fulfilled') {
    sha256 = found.value;
    return opened.value;
  }
  await opened.value.provider[Symbol.asyncDispose]();
  throw found.reason;
}

function passedOverOf({ rejections }: Opened): string | null {
  if (rejections.length === 0) return null;
  return sayReasons(rejections.map(({ candidate, problem }) => [candidate, problem.replaceAll(/\s+/g, ' ').trim()]));
}

function startErrorOf(reason: unknown): unknown {
  return reason instanceof NoProviderError ? new StartError(reason.message, { cause: reason }) : reason;
}

function logFindings({ provider, rejections, packsLeftOut, runtimeDefects }: Opened, log: Log): void {
  for (const leftOut of packsLeftOut) log.warn(leftOut, 'a runtime pack is not offered');
  for (const rejection of rejections) log.warn(rejection, 'a stronger provider did not pass its preflight');
  if (runtimeDefects !== null)
    log.warn({ runtimeDefects }, 'the runtime is old (`vouchbox setup` as root upgrades it)');
  if (provider.isolation_class === 'none') log.warn('jobs run as development subprocesses: nothing isolates them');
}

/**
 * For receipts, the digest that `vouchbox doctor --json` prints about this host. A development subprocess has no such
 * digest, because no control on the host isolates it.
 */
async function hostPostureDigest({ provider }: Config, instance: string): Promise<string | null> {
  return provider === 'subprocess' ? null : (await hostPosture(instance)).sha256;
}
