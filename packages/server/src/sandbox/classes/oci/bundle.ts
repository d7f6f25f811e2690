/** Describes a cell in the format of an OCI runtime, crun or runsc: the OCI runtime specification 1.0.2. */
import { type DescriptionOptions, describeCell, GUEST, JOB_UID } from '../../cell/description.ts';

/** Capabilities of process 1 inside its user namespace. The interpreter that it starts gives up all of them. */
const INIT_CAPABILITIES = ['CAP_KILL', 'CAP_SETGID', 'CAP_SETPCAP', 'CAP_SETUID', 'CAP_SYS_RESOURCE'];

/** The configuration, as a JSON value. The command of process 1 is `processOne`, then the words that say what it starts. */
export function bundleConfig(options: DescriptionOptions, processOne: readonly string[]) {
  const { program, compiler, environment, resources, mounts, ...kernel } = describeCell(options);
  const args = [...processOne, String(compiler.length), ...compiler, ...program];
  return {
    ociVersion: '1.0.2',
    process: processOf(args, environment, resources),
    root: { path: `${options.cell}/rootfs`, readonly: true },
    hostname: 'sandbox',
    mounts,
    linux: { ...linuxOf(options), ...kernel },
  };
}

function processOf(args: readonly string[], env: readonly string[], resources: Readonly<Record<string, number>>) {
  const capabilities = INIT_CAPABILITIES;
  return {
    terminal: false,
    user: { uid: 0, gid: 0, umask: 0o22, additionalGids: [] },
    args,
    env,
    cwd: GUEST.work,
    capabilities: {
      bounding: capabilities,
      effective: capabilities,
      permitted: capabilities,
      inheritable: [],
      ambient: [],
    },
    rlimits: Object.entries(resources).map(([name, value]) => ({ type: `RLIMIT_${name}`, soft: value, hard: value })),
    noNewPrivileges: true,
    // `svc-stage` has set this value before the runtime starts. A lower value is not allowed.
    oomScoreAdj: 1000,
  };
}

function linuxOf(options: DescriptionOptions) {
  const mapping = [
    { containerID: 0, hostID: options.rootUid, size: 1 },
    { containerID: JOB_UID, hostID: options.rootUid + 1, size: 1 },
  ];
  return {
    namespaces: namespacesOf(options).map((type) => ({ type })),
    uidMappings: mapping,
    gidMappings: mapping,
    rootfsPropagation: 'private',
    resources: { devices: [{ allow: false, access: 'rwm' }] },
  };
}

/** The namespaces that crun makes. A network with loopback already exists, with `lo` up: no user of the cell may change it. */
function namespacesOf({ sharesHostKernel, loopback }: DescriptionOptions): readonly string[] {
  const isMade = sharesHostKernel && loopback;
  return ['pid', ...(isMade ? [] : ['network']), 'ipc', 'uts', 'mount', 'cgroup', 'user'];
}
