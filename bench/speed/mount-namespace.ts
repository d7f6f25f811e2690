/** How a process of baselines is forked, in a mount namespace of its own. */

/** On a hybrid cgroup layout the namespace lacks the v2 mount, which crun refuses. */
export const withinMountNamespace = {
  execPath: '/usr/bin/unshare',
  execArgv: [
    '--mount',
    '/bin/sh',
    '-c',
    'umount -l /sys/fs/cgroup/unified 2>/dev/null; exec "$0" "$@"',
    process.execPath,
  ],
};
