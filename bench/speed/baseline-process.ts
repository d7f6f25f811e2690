/** A process that runs baselines in its own mount namespace. Its parent sends it orders, and it ends when its parent ends. */
import { type ChildProcess, fork } from 'node:child_process';

/** On a hybrid cgroup layout, crun refuses the v2 mount, so the namespace has no such mount. */
const withinMountNamespace = {
  execPath: '/usr/bin/unshare',
  execArgv: [
    '--mount',
    '/bin/sh',
    '-c',
    'umount -l /sys/fs/cgroup/unified 2>/dev/null; exec "$0" "$@"',
    process.execPath,
  ],
};

/** The argument with which the program `file` serves orders. */
const SERVE = 'serve';

export class BaselineProcess<Order extends object, Answer extends object> implements Disposable {
  readonly #child: ChildProcess;

  /** Starts the process. Its program must obey orders: see `serveOrders`. */
  constructor(file: string) {
    this.#child = fork(file, [SERVE], withinMountNamespace);
  }

  async order(order: Order): Promise<Answer> {
    const answered = new Promise<Answer | { error: string }>((resolve, reject) => {
      this.#child.once('message', (answer) => resolve(answer as Answer));
      this.#child.once('exit', () => reject(new Error('the baselines ended')));
    });
    this.#child.send(order);
    const answer = await answered;
    this.#child.removeAllListeners('exit');
    if ('error' in answer) throw new Error(answer.error);
    return answer;
  }

  [Symbol.dispose](): void {
    this.#child.disconnect();
  }
}

/** Obeys orders if this process was started for that. Has no effect in other processes. */
export function serveOrders<Order>(obey: (order: Order) => Promise<object>): void {
  if (process.argv[2] !== SERVE) return;
  process.on('message', (order: Order) => {
    obey(order).then(
      (answer) => process.send?.(answer),
      (error: Error) => process.send?.({ error: error.message }),
    );
  });
}

/** The configuration of a plain bundle: only namespaces, the host's /usr read-only, and a tmpfs. */
export function plainConfiguration({ args, cwd }: { readonly args: readonly string[]; readonly cwd: string }): string {
  return JSON.stringify({
    ociVersion: '1.0.2',
    process: { terminal: false, user: { uid: 0, gid: 0 }, args, env: ['PATH=/usr/bin:/bin'], cwd },
    root: { path: 'rootfs', readonly: true },
    hostname: 'bench',
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755', 'size=64k'] },
      { destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev', 'size=32m'] },
      { destination: '/usr', type: 'bind', source: '/usr', options: ['rbind', 'ro'] },
    ],
    linux: { namespaces: ['pid', 'network', 'ipc', 'uts', 'mount'].map((type) => ({ type })) },
  });
}
