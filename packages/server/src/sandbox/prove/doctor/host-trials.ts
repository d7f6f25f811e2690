/** Tries what the service needs from the machine and its settings, before any cell. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { networkInterfaces, release } from 'node:os';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { whyNoCells } from '../../kernel/user-namespace/enter-user-namespace.ts';
import { hasOneUser, ownerOutside, usersOfCells } from '../../kernel/user-namespace/mapped-users.ts';
import { areNativesBrought, nativeProblem, PERL } from '../../native/native.ts';
import { type Finding, fail, pass, warn } from './finding.ts';
import type { Trial } from './trial.ts';

const run = promisify(execFile);
const NODE_OLDEST = [26, 4] as const;
/** The oldest long-term kernel that the hostile suite supports. Older ones may work, but were not tried. */
const KERNEL_OLDEST = [5, 10] as const;
const GIB = 1024 ** 3;
const USERS_FIX =
  'for users that only the cells have, as root: apt-get install uidmap, and usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER';

export interface HostTrialOptions {
  readonly dataDirectory: string;
  /** Whether the service's free-space reserve is free now, in the file system of this existing directory. */
  readonly isReserveFree: (directory: string) => Promise<boolean>;
}

const LOOPBACK: Trial = {
  id: 'host.loopback',
  title: 'a loopback interface, over which a command reaches the service that it starts',
  fix: 'as root: ip link set lo up',
  attempt() {
    const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all);
    const own = addresses.find(({ internal, family }) => internal && family === 'IPv4');
    return own === undefined ? warn('none is up', this.fix) : pass(own.address);
  },
};

export function hostTrials({ dataDirectory, isReserveFree }: HostTrialOptions): Trial[] {
  return [
    {
      id: 'host.root',
      title: 'this process is root, of the host or of a user namespace',
      fix: 'run as root: only root makes the control groups and mounts of a cell',
      attempt() {
        const why = whyNoCells();
        if (why !== null) return fail(`user ${process.geteuid?.() ?? 'unknown'} lacks ${why.missing}`, why.fix);
        const owner = ownerOutside();
        if (owner === null) return pass('user 0');
        if (hasOneUser()) return warn(`user ${owner} of the host, who is every program as well`, USERS_FIX);
        return pass(`user ${owner} of the host, with ${usersOfCells().count} subordinate users for cells`);
      },
    },
    {
      id: 'host.kernel',
      title: 'Linux kernel',
      fix: `run on Linux ${KERNEL_OLDEST.join('.')} or newer`,
      attempt() {
        if (process.platform !== 'linux') return fail(process.platform, this.fix);
        return isAtLeast(release(), KERNEL_OLDEST) ? pass(release()) : warn(release(), this.fix);
      },
    },
    {
      id: 'host.node',
      title: 'Node version',
      fix: `use Node ${NODE_OLDEST.join('.')} or newer, such as the one that Vouchbox brings`,
      attempt() {
        return isAtLeast(process.versions.node, NODE_OLDEST) ? pass(process.version) : fail(process.version, this.fix);
      },
    },
    {
      id: 'host.perl',
      title: 'perl, which runs the probes of this doctor',
      fix: 'apt-get install perl-base',
      attempt: async () => pass(`${PERL} ${(await run(PERL, ['-e', 'print $^V'])).stdout}`),
    },
    {
      id: 'host.natives',
      title: 'the programs that start cells',
      fix: 'run `vouchbox setup`, or install the package again',
      attempt() {
        const problem = nativeProblem();
        if (problem === null)
          return pass(areNativesBrought() ? 'as this package was built' : 'compiled in this checkout');
        return areNativesBrought() ? fail(problem, this.fix) : warn(problem, this.fix);
      },
    },
    LOOPBACK,
    {
      id: 'host.free_space',
      title: 'free space in the data directory',
      fix: 'free some space, or lower SERVICE_FREE_SPACE_RESERVE_MB',
      async attempt() {
        return describeSpace(nearestExisting(dataDirectory), isReserveFree, this.fix);
      },
    },
  ];
}

async function describeSpace(
  directory: string,
  isReserveFree: HostTrialOptions['isReserveFree'],
  fix: string,
): Promise<Finding> {
  const { bavail, bsize } = await statfs(directory);
  const observed = `${((bavail * bsize) / GIB).toFixed(1)} GiB free at ${directory}`;
  return (await isReserveFree(directory)) ? pass(observed) : fail(`${observed}, less than the reserve`, fix);
}

/** The nearest directory above this path that exists: the data directory is made only at the first start. */
function nearestExisting(path: string): string {
  return existsSync(path) ? path : nearestExisting(dirname(path));
}

function isAtLeast(version: string, oldest: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  return major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);
}
