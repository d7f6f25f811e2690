/**
 * The hosts on which the service is tried: emulated machines, made from the packages of a distribution. Each host
 * differs from the others in one way in which real hosts also differ.
 */
import type { RootRecipe } from './root-recipe.ts';

export type Rights = 'root' | 'unit' | 'user';

/** One machine, and the trials on it. */
export interface Host {
  /** The host's name on the command line and in docs/HOSTS.md. */
  readonly name: string;
  /** What is special about this host, in a few words. */
  readonly title: string;
  readonly root: RootRecipe;
  readonly cores: number;
  readonly memoryMb: number;
  /** Further arguments on the kernel's command line. */
  readonly kernelWords: readonly string[];
  /** The trials' rights: root's, those of the unit for root in `deploy/`, or those of the unit there for an ordinary user. */
  readonly rights: Rights;
  /** Ids of trials in `within/trials.ts`, in the order in which they run. */
  readonly trials: readonly string[];
  /** Trials that run only with `--long`, because other trials show the same in less time. */
  readonly longTrials: readonly string[];
  /** What the machine also gets: the image that `deploy/Containerfile` builds, or the packages and an npm store. */
  readonly given?: 'image' | 'packages';
}

const BOOKWORM: RootRecipe = { suite: 'bookworm', architecture: 'amd64', fromBackports: ['runsc'] };
/**
 * A root with programs that map subordinate users, and with a user manager and its bus. There, an ordinary user can start
 * services without a unit.
 */
const FOR_USERS: RootRecipe = { ...BOOKWORM, also: ['uidmap', 'dbus-user-session'] };
/** The machine that docs/operating/start.md requires for the installation of the packages. */
const NEWCOMERS: RootRecipe = {
  suite: 'bookworm',
  architecture: 'amd64',
  fromBackports: [],
  isBare: true,
  also: ['nodejs', 'npm', 'python3', 'libatomic1'],
};
/** Two container engines, the programs that make their networks, and AppArmor, for the profile that Docker gives containers. */
const FOR_CONTAINERS = [
  ...['uidmap', 'dbus-user-session', 'podman', 'passt', 'netavark', 'aardvark-dns', 'catatonit', 'nftables'],
  ...['docker.io', 'docker-cli', 'docker-compose', 'iptables', 'apparmor'],
];
const START = ['facts', 'set-up', 'doctor', 'quickstart'];
const RUN = ['run-namespace', 'run-gvisor'];
/** Trials with shortened lists of tests. One x86-64 host runs the whole lists. */
const MIDDLE = [...START, 'outcomes', 'groups-short', 'hostile-namespace', 'limits-gvisor'];
/**
 * For a host with the root and the kernel of `debian-12`: the trials whose results may differ there, and `vouchbox doctor`.
 * The doctor runs every language in both classes.
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
    trials: ['facts', 'refused', 'run-refused', 'doctor', 'run-namespace', 'limits-namespace'],
  },
  {
    ...usual,
    name: 'debian-12-no-namespaces',
    title: 'Debian 12, x86-64, no user namespaces for anybody',
    kernelWords: ['sysctl.user.max_user_namespaces=0'],
    trials: ['facts', 'refused-by-number', 'run-refused-by-number', 'run-refused-root'],
  },
  {
    ...usual,
    name: 'debian-12-few-namespaces',
    title: 'Debian 12, x86-64, twelve user namespaces for each user',
    kernelWords: ['sysctl.user.max_user_namespaces=12'],
    trials: ['facts', 'alone', 'doctor-alone'],
  },
  {
    ...usual,
    name: 'debian-12-alone',
    title: 'Debian 12, x86-64, as an ordinary user without extra rights',
    trials: ['facts', 'alone', 'doctor-alone', 'hostile-alone'],
  },
  {
    ...usual,
    name: 'debian-12-newcomer',
    title: "Debian 12, x86-64, with Debian's own Node and npm, Python, and nothing that the set-up installs",
    root: NEWCOMERS,
    trials: ['newcomer'],
    given: 'packages',
  },
  {
    ...usual,
    name: 'debian-12-many-users',
    title: 'Debian 12, x86-64, whose users are many',
    root: FOR_USERS,
    trials: ['facts', 'many-users'],
  },
  {
    ...usual,
    name: 'debian-13-containers',
    title: "Debian 13, x86-64, with Debian's own Podman and Docker",
    root: { suite: 'trixie', architecture: 'amd64', fromBackports: [], also: [...FOR_CONTAINERS] },
    trials: ['facts', 'podman-bare', 'podman-user', 'docker-bare', 'docker-user'],
    given: 'image',
  },
  {
    ...usual,
    name: 'debian-12-user',
    title: 'Debian 12, x86-64, as an ordinary user with a delegated control group',
    root: FOR_USERS,
    rights: 'user',
    trials: ['facts', 'doctor-user', 'run-session', 'hostile-user', 'crossings-user', 'service-user'],
  },
];

/** A machine that cannot be made from Debian's packages. Its owner runs the trials there, as the user who would use it. */
export interface OtherHost {
  readonly name: string;
  readonly title: string;
  readonly trials: readonly string[];
}

const HERE = ['facts', 'doctor-here', 'run-here'];
/** The titles of these machines, keyed by name. */
const OTHERS = {
  'ubuntu-24.04': 'Ubuntu 24.04, whose AppArmor refuses user namespaces to ordinary users',
  'ubuntu-24.04-profile': 'Ubuntu 24.04, after `vouchbox setup --apparmor`',
  fedora: 'Fedora, with SELinux',
  wsl2: 'WSL2 on Windows',
  'macos-lima': 'macOS, in the machine of `vouchbox vm`',
  'github-ubuntu': "GitHub's runner `ubuntu-24.04`",
};

export const OTHER_HOSTS: readonly OtherHost[] = Object.entries(OTHERS).map(([name, title]) => ({
  name,
  title,
  trials: HERE,
}));

/** The ids of all of a host's trials. */
export function allTrials(host: Host | OtherHost): readonly string[] {
  return 'longTrials' in host ? [...host.trials, ...host.longTrials] : host.trials;
}

/** The hosts that have rows in the table. */
export const ALL_HOSTS: readonly (Host | OtherHost)[] = [...HOSTS, ...OTHER_HOSTS];
