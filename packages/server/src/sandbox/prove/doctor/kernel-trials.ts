/** Tries each control of the kernel that cells use, each in a separate process. The trials change nothing on the host. */
import { mkdtempSync, readdirSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasOneUser, usersOfCells } from '../../kernel/user-namespace/mapped-users.ts';
import { type Finding, fail, pass } from './finding.ts';
import type { Probes } from './probe.ts';
import type { Trial } from './trial.ts';

const NAMESPACE_FIX =
  'in a container, start it privileged, or with CAP_SYS_ADMIN and without a seccomp profile of its own';
const USER_FIX =
  'allow user namespaces: sysctl -w user.max_user_namespaces=15000, and kernel.unprivileged_userns_clone=1 where there is one';
const OVERLAY_FIX =
  'load the overlay module (modprobe overlay), or run a kernel with CONFIG_OVERLAY_FS; in containers keep /usr on one overlay at most';
const TMPFS_BYTES = 1024 * 1024;
const TMPFS_INODES = 16;

/** The trials, in the order in which a cell needs the controls. */
export function kernelTrials(probes: Probes): Trial[] {
  return [
    // If only one user is mapped, two users cannot be tried. The trials of cells then show which limits hold.
    ...(hasOneUser() ? [] : [usersTrial(probes)]),
    ...['mount', 'pid', 'network', 'ipc', 'uts', 'cgroup'].map((kind) => namespaceTrial(kind, probes)),
    {
      id: 'kernel.mounts',
      title: 'private mounts and a tmpfs of bounded size',
      needs: ['kernel.namespace.mount'],
      fix: NAMESPACE_FIX,
      attempt: () => tryPrivateMount(probes),
    },
    probeTrial(probes, ['overlay', tmpdir()], {
      id: 'kernel.overlay',
      title: 'a file opened through one overlay of /usr is not seen through another',
      needs: ['kernel.namespace.mount'],
      wanted: 'seen here alone',
      fix: OVERLAY_FIX,
    }),
    probeTrial(probes, ['network'], {
      id: 'kernel.network',
      title: 'no network but a loopback',
      needs: ['kernel.namespace.network'],
      wanted: 'interfaces lo, a connection fails (Network is unreachable)',
      fix: NAMESPACE_FIX,
    }),
    probeTrial(probes, ['seccomp'], {
      id: 'kernel.seccomp',
      title: 'a seccomp filter refuses a call with an ordinary error',
      wanted: 'mode 2, the refused call gives: Operation not permitted',
      fix: 'run a kernel with CONFIG_SECCOMP_FILTER=y',
    }),
    probeTrial(probes, ['no_new_privileges'], {
      id: 'kernel.no_new_privileges',
      title: 'new privileges can be given up for good',
      wanted: 'held 1, and it cannot be undone',
      fix: 'run Linux 3.5 or newer',
    }),
  ];
}

function usersTrial(probes: Probes): Trial {
  return {
    id: 'kernel.namespace.user',
    title: 'user namespace with two users mapped',
    fix: USER_FIX,
    async attempt() {
      // Two users, such as a cell gets.
      const { first } = usersOfCells();
      const said = await probes.probed('user', String(first));
      return expect(said, `user 1000 inside is user ${first + 1} outside`, USER_FIX);
    },
  };
}

function namespaceTrial(kind: string, probes: Probes): Trial {
  return probeTrial(probes, ['namespace', kind], {
    id: `kernel.namespace.${kind}`,
    title: `${kind} namespace`,
    wanted: kind === 'pid' ? 'its own namespace, process 1' : 'its own namespace',
    fix: NAMESPACE_FIX,
  });
}

/** The trial of a control. The control works if the probe says `wanted`. */
function probeTrial(
  probes: Probes,
  asked: readonly string[],
  { wanted, ...trial }: Omit<Trial, 'attempt'> & { readonly wanted: string },
): Trial {
  return { ...trial, attempt: async () => expect(await probes.probed(...asked), wanted, trial.fix) };
}

/** Tries a private mount: it must bound writes, and must not be visible outside. */
async function tryPrivateMount(probes: Probes): Promise<Finding> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-doctor-'));
  try {
    const said = await probes.probed('mount', directory);
    const seenOutside = readdirSync(directory);
    if (seenOutside.length > 0) return fail('the mount is seen outside of its namespace', NAMESPACE_FIX);
    return expect(said, `${TMPFS_BYTES} bytes and ${TMPFS_INODES - 1} files until full`, NAMESPACE_FIX);
  } finally {
    rmdirSync(directory);
  }
}

function expect(said: string, wanted: string, fix: string): Finding {
  return said === wanted ? pass(said) : fail(said, fix);
}
