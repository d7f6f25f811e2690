/**
 * The launchers for the attacked cells, two in each class. The suite runs once with each launcher. Processes that a case
 * starts read the same choice from their environment.
 */
import type { HostileClass } from './hostile-case.ts';

/** The launchers in each class. The service prefers the first. */
export const LAUNCHERS = { namespace: ['fork', 'crun'], gvisor: ['direct', 'runsc'] } as const;

export type NamespaceLauncher = (typeof LAUNCHERS)['namespace'][number];
export type GvisorStarter = (typeof LAUNCHERS)['gvisor'][number];

const VARIABLES = { namespace: 'HOSTILE_NAMESPACE_LAUNCHER', gvisor: 'HOSTILE_GVISOR_STARTER' } as const;

export function namespaceLauncher(): NamespaceLauncher {
  return process.env[VARIABLES.namespace] === 'crun' ? 'crun' : 'fork';
}

export function gvisorStarter(): GvisorStarter {
  return process.env[VARIABLES.gvisor] === 'runsc' ? 'runsc' : 'direct';
}

/** Chooses the launcher for every target that is opened until the result is disposed. */
export function useLauncher(hostileClass: HostileClass, launcher: NamespaceLauncher | GvisorStarter): Disposable {
  process.env[VARIABLES[hostileClass]] = launcher;
  return {
    [Symbol.dispose]() {
      delete process.env[VARIABLES[hostileClass]];
    },
  };
}

/** The environment variables for a process that a case starts. */
export function launcherEnvironment(): Readonly<Record<string, string>> {
  return { [VARIABLES.namespace]: namespaceLauncher(), [VARIABLES.gvisor]: gvisorStarter() };
}
