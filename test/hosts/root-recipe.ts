/** The parts of a host's root file system. */
import { createHash } from 'node:crypto';

export interface RootRecipe {
  /** The code name of the Debian release. */
  readonly suite: string;
  /** The architecture as Debian names it. */
  readonly architecture: 'amd64' | 'arm64';
  /** Packages from the release's backports, as in the set-up. */
  readonly fromBackports: readonly string[];
  /** True if the root has none of the packages that the set-up would install. */
  readonly isBare?: true;
  /** Further packages; left out if there are none. */
  readonly also?: readonly string[];
}

/** What a machine needs to start. */
export const BARE_PACKAGES = ['systemd-sysv', 'udev', 'kmod', 'busybox-static', 'iproute2', 'procps'];

/** What a machine needs to start, and the packages that the set-up would install. */
export const PACKAGES = [
  ...BARE_PACKAGES,
  ...['crun', 'runsc', 'python3', 'perl-base', 'libatomic1', 'gcc', 'libc6-dev', 'libseccomp-dev', 'mmdebstrap'],
  ...['strace', 'openssl', 'python3-cryptography'],
];

/** A unit that starts the trials, and powers the machine off after them. systemd.unit(5). */
const TRIAL_UNIT = `[Unit]
Description=Tries the service on this host
After=multi-user.target
RequiresMountsFor=/opt/vouchbox
SuccessAction=poweroff-force
FailureAction=poweroff-force

[Service]
Type=oneshot
ExecStart=/opt/vouchbox/node_modules/.bin/node /opt/vouchbox/test/hosts/within/main.ts
WorkingDirectory=/opt/vouchbox
Environment=HOME=/root PATH=/opt/vouchbox/node_modules/.bin:/usr/sbin:/usr/bin:/sbin:/bin
TimeoutStartSec=infinity

[Install]
WantedBy=default.target
`;

/** Files that the root has besides those from its packages, keyed by path. */
export const FILES: Readonly<Record<string, string>> = {
  '/etc/hostname': 'host\n',
  '/etc/fstab': '/dev/vdb /opt/vouchbox ext4 defaults 0 2\n',
  '/etc/systemd/system/vouchbox-trial.service': TRIAL_UNIT,
};

/** The recipe's digest. All roots that are built from the same recipe have the same digest. */
export function digestOf(recipe: RootRecipe): string {
  return createHash('sha256')
    .update(JSON.stringify([recipe, PACKAGES, FILES, 1]))
    .digest('hex')
    .slice(0, 16);
}
