/** Chooses a run's hosts and trials, and their order. */
import { allTrials, HOSTS, type Host } from './host.ts';
import { hasHeld, secondsOf } from './observed.ts';

/** The trial that compiles the programs that start cells. Without it, no other trial can run. */
const SET_UP = 'set-up';

export interface Choice {
  /** Ids of the trials to run. Undefined means all trials of each host. */
  readonly trials: readonly string[] | undefined;
  /** Whether trials that have held are left out. */
  readonly isRest: boolean;
  /** Whether each host also runs its long trials. */
  readonly isLong: boolean;
}

/**
 * The named hosts, or else all hosts, with the trials to run. The slowest host comes first, so that the run ends earlier.
 *
 * @throws Error if one of the names is not a host's name
 */
export function planOf(names: readonly string[], choice: Choice): readonly Host[] {
  const unknown = names.find((name) => HOSTS.every((host) => host.name !== name));
  if (unknown !== undefined) {
    throw new Error(`there is no host ${unknown}: take ${HOSTS.map(({ name }) => name).join(', ')}`);
  }
  return HOSTS.filter(({ name }) => names.length === 0 || names.includes(name))
    .map((host) => ({ ...host, trials: trialsOf(host, choice) }))
    .filter(({ trials }) => trials.length > 0)
    .toSorted((one, other) => secondsOf(other) - secondsOf(one));
}

function trialsOf(host: Host, { trials, isRest, isLong }: Choice): readonly string[] {
  const usual = isLong ? allTrials(host) : host.trials;
  const wanted = (trials ?? usual).filter((id) => !isRest || !hasHeld(host, id));
  return needsSetUp(host, wanted) ? [SET_UP, ...wanted] : wanted;
}

/** True for a host of another architecture. It cannot run the programs that this machine compiled. */
function needsSetUp({ root }: Host, wanted: readonly string[]): boolean {
  return root.architecture !== 'amd64' && wanted.length > 0 && !wanted.includes(SET_UP);
}
