/**
 * The hosts that the service is tried on: emulated machines made of a distribution's own packages. Each differs from the
 * others in one thing that real hosts differ in.
 */
import type { RootRecipe } from './root-recipe.ts';

export type Rights = 'root' | 'unit' | 'user';

/** One machine, and the trials on it. */
export interface Host {
  /** Names it on the command line and in docs/HOSTS.md. */
  readonly name: string;
  /** The particular thing about this host, in a few words. */
  readonly title: string;
  readonly root: RootRecipe;
  readonly cores: number;
  readonly memoryMb: number;
  /** Further words of the kernel's command line. */
  readonly kernelWords: readonly string[];
  /** The rights of the trials: those of root, of the unit of `deploy/`, or of an ordinary user's unit there. */
  readonly rights: Rights;
  /** Ids of the trials of `within/trials.ts`, in their order. */
  readonly trials: readonly string[];
  /** The trials that only `--long` adds: others show the same in less time. */
  readonly longTrials: readonly string[];
}

const BOOKWORM: RootRecipe = { suite: 'bookworm', architecture: 'amd64', fromBackports: ['runsc'] };
const START = ['facts', 'set-up', 'doctor', 'quickstart'];
const RUN = ['run-namespace', 'run-gvisor'];
/** Long lists of tests are whole on one of the hosts for x86-64, and short on the others. */
const MIDDLE = [...START, 'outcomes', 'groups-short', 'hostile-namespace', 'limits-gvisor'];
/**
 * For a host that has the root and the kernel of `debian-12`: the trials that may differ there, and `vouchbox doctor`, which
 * runs every language in both classes.
 */
const SHORT = ['facts', 'doctor', 'limits'];

const usual = {
  root: BOOKWORM,
  cores: 2,
  memoryMb: 4096,
  kernelWords: [],
  rights: 'root',
  trials: MIDDLE,
  longTrials: [],
} as const;

export const HOSTS: readonly Host[] = [
  {
    ...usual,
    name: 'debian-12',
    title: 'Debian 12, x86-64, cgroup v2 alone',
    trials: [...START, 'contract', 'groups-short', 'hostile-namespace', 'limits-gvisor'],
    longTrials: RUN,
  },
  {
    ...usual,
    name: 'debian-12-unit',
    title: 'Debian 12, x86-64, with the rights of the unit alone',
    rights: 'unit',
    trials: [...SHORT, 'service'],
  },
  {
    ...usual,
    name: 'debian-13',
    title: 'Debian 13, x86-64, with its own crun, runsc and Python',
    root: { suite: 'trixie', architecture: 'amd64', fromBackports: [] },
    trials: [...START, 'outcomes', 'groups', 'hostile-namespace', 'limits-gvisor', 'python-ends', 'alone'],
    longTrials: ['hostile-gvisor'],
  },
  {
    ...usual,
    name: 'debian-12-arm64',
    title: 'Debian 12, arm64, cgroup v2 alone',
    root: { ...BOOKWORM, architecture: 'arm64' },
    longTrials: RUN,
  },
  {
    ...usual,
    name: 'debian-12-small',
    title: 'Debian 12, x86-64, one core and 1 GiB',
    cores: 1,
    memoryMb: 1024,
    trials: SHORT,
  },
  {
    ...usual,
    name: 'debian-12-no-userns',
    title: 'Debian 12, x86-64, user namespaces for root alone',
    kernelWords: ['sysctl.kernel.unprivileged_userns_clone=0'],
    trials: ['facts', 'refused', 'doctor', 'run-namespace', 'limits-namespace'],
  },
  {
    ...usual,
    name: 'debian-12-user',
    title: 'Debian 12, x86-64, as an ordinary user with a delegated control group',
    // A user manager, which has a bus, for what an ordinary user starts without a unit of `deploy/`.
    root: { ...BOOKWORM, also: ['uidmap', 'dbus-user-session'] },
    rights: 'user',
    trials: ['facts', 'alone', 'doctor-user', 'run-session', 'hostile-user', 'crossings-user', 'service-user'],
  },
];

/** Ids of all trials that a host has. */
export function allTrials({ trials, longTrials }: Host): readonly string[] {
  return [...trials, ...longTrials];
}
