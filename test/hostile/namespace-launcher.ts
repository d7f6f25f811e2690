/**
 * Which launcher builds the namespace cells that are attacked: the suite runs once with each. Processes that a case
 * starts take the same one from their environment.
 */

const VARIABLE = 'HOSTILE_NAMESPACE_LAUNCHER';

export type NamespaceLauncher = 'fork' | 'crun';

export function namespaceLauncher(): NamespaceLauncher {
  return process.env[VARIABLE] === 'crun' ? 'crun' : 'fork';
}

/** Chooses for every target that is opened until the result is disposed. */
export function useNamespaceLauncher(launcher: NamespaceLauncher): Disposable {
  process.env[VARIABLE] = launcher;
  return {
    [Symbol.dispose]() {
      delete process.env[VARIABLE];
    },
  };
}

/** The variable for a process of a case's own. */
export function launcherEnvironment(): Readonly<Record<string, string>> {
  return { [VARIABLE]: namespaceLauncher() };
}
