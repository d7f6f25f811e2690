/** If a cell cannot be made with all its protections, no program runs, nothing is claimed, and nothing is left. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CellOptions } from '../../packages/server/src/sandbox/cell/runtime.ts';
import { unreadyPosture } from '../../packages/server/src/sandbox/sandbox.ts';
import { type BenchOptions, type BundleEdit, FaultBench, withEdits, withParts } from './fault-bench.ts';
import type { HostileCase, HostileClass } from './hostile-case.ts';
import { doSeparately, type SeparateHost } from './separate-service.ts';
import { programOf } from './target.ts';

/** One step of a cell's bootstrap. The test makes this step fail. */
interface Fault {
  readonly title: string;
  /** What the message to the operator must say. */
  readonly says?: RegExp;
  readonly change: (options: BenchOptions, bench: FaultBench) => BenchOptions;
}

const edited =
  (...edits: readonly BundleEdit[]): Fault['change'] =>
  (options) => ({ ...options, runtime: withEdits(options.runtime, edits) });

const inPlaceOfProcessOne =
  (script: string): Fault['change'] =>
  (options, bench) => ({
    ...edited({ set: ['process', 'args'], to: ['/bin/bash', '-c', script] })(options, bench),
    readyMilliseconds: 1000,
  });

const FAULTS: readonly Fault[] = [
  {
    title: 'its directory cannot be made',
    change(options) {
      mkdirSync(dirname(options.directory), { recursive: true });
      writeFileSync(options.directory, '');
      return options;
    },
  },
  {
    title: 'its bundle cannot be written',
    change(options) {
      mkdirSync(join(options.directory, 'config.json'), { recursive: true });
      return options;
    },
  },
  {
    title: 'its group refuses a limit',
    change(options) {
      const { group } = options;
      const refuse = (): never => {
        throw new Error('EACCES: permission denied');
      };
      return {
        ...options,
        group: Object.assign(Object.create(group) as typeof group, bound(group), { limit: refuse }),
      };
    },
  },
  {
    title: 'its group cannot be joined',
    says: /cannot open .*no-such-group/,
    change(options) {
      const { group } = options;
      const joinFiles = ['/proc/self/no-such-group/cgroup.procs'];
      return { ...options, group: Object.assign(Object.create(group) as typeof group, bound(group), { joinFiles }) };
    },
  },
  {
    title: 'the start of the runtime hangs',
    change: (options) => ({
      ...options,
      runtime: withParts(options.runtime, { stage: () => ['/bin/sh', '-c', 'exec sleep 600'] }),
      readyMilliseconds: 1000,
    }),
  },
  {
    title: 'its file system is not mounted',
    says: /cannot mount .*\/cell/,
    change: (options) => ({ ...options, workBytes: Number.NaN }),
  },
  {
    title: 'the root is missing',
    says: /\/no\/such\/root/,
    change: (options) => ({ ...options, rootfs: '/no/such/root' }),
  },
  {
    title: 'the root has no place for a mount',
    change(options) {
      const rootfs = `${options.directory}-empty`;
      mkdirSync(rootfs, { recursive: true });
      return { ...options, directory: `${options.directory}-cell`, rootfs };
    },
  },
  {
    title: 'a tree of the runtime pack is missing',
    says: /no\/such\/tree/,
    change: (options) => ({
      ...options,
      pack: { ...options.pack, binds: [{ source: '/no/such/tree', destination: '/usr' }] },
    }),
  },
  {
    title: 'its users cannot be mapped',
    change: (options) => ({ ...options, rootUid: 0xffffffff }),
  },
  {
    title: 'its system call filter cannot be loaded',
    change: edited({ filter: 'broken' }),
  },
  {
    title: 'process 1 is missing',
    change: edited({ set: ['process', 'args', 0], to: '/no/such/init' }),
  },
  { title: 'process 1 ends', change: inPlaceOfProcessOne('exit 3') },
  { title: 'process 1 says nothing', change: inPlaceOfProcessOne('sleep 600') },
  {
    title: 'process 1 says something else',
    change: inPlaceOfProcessOne('echo ready 99999999; sleep 600'),
  },
  {
    title: 'process 1 never stops speaking',
    change: inPlaceOfProcessOne('while :; do echo -n xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done'),
  },
  {
    title: 'its interpreter is missing',
    change: edited({ set: ['process', 'args', 4], to: '/no/such/bash' }),
  },
  {
    title: 'the runtime is missing',
    says: /cannot start \/no\/such\/runtime/,
    change: withCommand(['/no/such/runtime']),
  },
  {
    title: 'the runtime refuses',
    change: withCommand(['/bin/sh', '-c', 'echo refused >&2; exit 1']),
  },
  { title: 'the runtime exits with 0 without having run', change: withCommand(['/bin/true']) },
  { title: 'the runtime hangs', change: withCommand(['/bin/sleep', '600']) },
];

function withCommand(command: readonly string[]): Fault['change'] {
  return (options) => ({
    ...options,
    runtime: withParts(options.runtime, { command: () => command }),
    readyMilliseconds: 1000,
  });
}

function withoutOverlays(options: BenchOptions): BenchOptions {
  const { runtime } = options;
  const stage = (cell: CellOptions) =>
    runtime.stage(cell).map((word) => (word === 'kernel=host' ? 'kernel=own' : word));
  return { ...options, runtime: withParts(runtime, { stage }) };
}

/** A group's methods, for an object that replaces the group. */
function bound(group: CellOptions['group']): Partial<CellOptions['group']> {
  return {
    joinFiles: group.joinFiles,
    plan: group.plan,
    make: () => group.make(),
    read: (measure) => group.read(measure),
    write: (writings) => group.write(writings),
    limit: (limits) => group.limit(limits),
    kill: () => group.kill(),
    remove: () => group.remove(),
    anonymousBytes: () => group.anonymousBytes(),
    members: () => group.members(),
  };
}

/** A protection that is left out of a bundle, and the message that must name this protection as missing. */
interface Weakness {
  readonly title: string;
  readonly edits: readonly BundleEdit[];
  readonly missing: RegExp;
  readonly classes?: readonly HostileClass[];
}

const OWN = (name: string) => ({ title: `its own ${name} namespace`, missing: new RegExp(`own ${name} namespace`) });
const WEAKNESSES: readonly Weakness[] = [
  ...[
    { ...OWN('net'), at: 1 },
    { ...OWN('ipc'), at: 2 },
    { ...OWN('uts'), at: 3, edits: [{ drop: ['hostname'] }] }, // crun refuses a host name without this namespace.
    { ...OWN('cgroup'), at: 5 },
  ].map(({ at, edits = [], ...weakness }: ReturnType<typeof OWN> & { at: number; edits?: readonly BundleEdit[] }) => ({
    ...weakness,
    edits: [...edits, { drop: ['linux', 'namespaces', at] }],
    classes: ['namespace'] as const,
  })),
  { title: 'its system call filter', edits: [{ filter: 'none' }], missing: /a seccomp filter/ },
  // The host's trees are not tried: they already have this flag on the host, and crun cannot remove the flag.
  ...['/tmp', '/dev/shm'].map((mount) => ({
    title: `nosuid on ${mount}`,
    edits: [{ mount, without: ['nosuid'] }],
    missing: new RegExp(`nosuid on ${mount}`),
    classes: ['namespace'] as const,
  })),
  {
    title: 'read-only /usr',
    edits: [{ mount: '/usr', without: ['ro'] }],
    missing: /ro on \/usr/,
    classes: ['gvisor'],
  },
  {
    title: 'noexec on /dev/shm',
    edits: [{ mount: '/dev/shm', without: ['noexec'] }],
    missing: /noexec on \/dev\/shm/,
  },
  {
    title: 'read-only /proc',
    edits: [{ mount: '/proc', without: ['ro'] }],
    missing: /ro on \/proc/,
  },
  {
    title: 'read-only inputs',
    edits: [{ mount: '/work/input', without: ['ro'] }],
    missing: /ro on \/work\/input/,
  },
  {
    title: 'a read-only root',
    edits: [{ set: ['root', 'readonly'], to: false }],
    missing: /a read-only root/,
    // The root is already read-only on the host, and crun cannot make it writable.
    classes: ['gvisor'],
  },
];

/** What a preflight finds instead of a working runtime, and the message that the preflight must give. */
interface Stub {
  readonly title: string;
  /** A shell script that replaces the runtime. It does not run for `--version`. Null means that there is no runtime. */
  readonly script: string | null;
  readonly version?: string;
  readonly problem: RegExp;
}

const STUBS: readonly Stub[] = [
  { title: 'is missing', script: null, problem: /is not installed \(Debian, Ubuntu: apt-get install/ },
  { title: 'fails', script: 'echo no way in >&2; exit 1', problem: /no way in/ },
  { title: 'exits with 0 without running anything', script: 'exit 0', problem: /ended/ },
  { title: 'prints something that a cell would not', script: 'echo hello; sleep 60', problem: /sent no report/ },
  { title: 'hangs', script: 'sleep 60', problem: /not ready within/ },
  {
    title: 'is older than the tested versions',
    script: 'exit 1',
    version: 'crun version 0.1\nrunsc version release-20180101.0',
    problem: /is older than/,
  },
  { title: 'hangs when asked for its version', script: 'exit 1', version: '$(sleep 60)', problem: /crun|runsc/ },
];

export const bootstrapCases: readonly HostileCase[] = [
  {
    id: 'ESC-16',
    title: 'a cell that lacks a protection is refused, and the error names it',
    holds: 'the cell is observed before it gets a program',
    needsRoot: true,
    async scenario(target) {
      await using bench = await FaultBench.open(target);
      for (const { title, edits, missing, classes } of WEAKNESSES) {
        if (classes !== undefined && !classes.includes(target.hostileClass)) continue;
        const error = await bench.failure(edited(...edits) as (options: BenchOptions) => BenchOptions);
        assert.equal(error.step, 'observe', `${title}: ${error.message}`);
        assert.match(error.message, missing);
        assert.deepEqual(error.posture, unreadyPosture(error.posture.backend, error.posture.runtime_identity));
      }
      if (target.hostileClass === 'namespace') {
        const error = await bench.failure((options) => withoutOverlays(options));
        assert.match(error.message, /missing: .*inodes of its own on \/usr, .*on \/dev\/null/);
      }
      assert.deepEqual(bench.left(), []);
    },
  },
  {
    id: 'ESC-25',
    title: 'if any step of a bootstrap fails, nothing runs, nothing is claimed and nothing is left',
    holds: 'only an observed cell gets a program',
    needsRoot: true,
    async scenario(target) {
      await using bench = await FaultBench.open(target);
      await (await bench.prepare((options) => options))[Symbol.asyncDispose](); // Without a fault, the preparation works.
      for (const { title, says, change } of FAULTS) {
        const error = await bench.failure((options) => change(options, bench));
        assert.equal(error.step, 'bootstrap', `${title}: ${error.message}`);
        assert.match(error.message, says ?? /./, title);
        assert.deepEqual(error.posture, unreadyPosture(error.posture.backend, error.posture.runtime_identity), title);
      }
      assert.deepEqual(
        bench.left().filter((name) => !name.endsWith('-empty')),
        [],
      );
    },
  },
  {
    id: 'ESC-25',
    title: 'a cell that fails during the hand-over does not run the program',
    holds: 'limits are set and read back, and files written, before a program is released',
    needsRoot: true,
    async scenario(target) {
      await using bench = await FaultBench.open(target);
      const clash = ['input/a', 'input/a/b'].map((path) => ({ path, content: Buffer.from('x') }));
      const program = { ...programOf({ program: 'wait.sh' }), files: clash };
      const cell = await bench.prepare((options) => options);
      await assert.rejects(() => cell.handOver(program), { name: 'BootstrapError', step: 'files' });
      let limited = 0;
      const stubborn = await bench.prepare((options) => ({
        ...options,
        group: refusingSecondLimit(options, () => ++limited),
      }));
      await assert.rejects(() => stubborn.handOver(programOf({ program: 'wait.sh' })), { step: 'limits' });
      assert.equal(limited, 2);
      assert.deepEqual(bench.left(), []);
    },
  },
  ...STUBS.map(
    (stub): HostileCase => ({
      id: stub.version === undefined ? 'ESC-31' : 'ESC-30',
      title: `a runtime that ${stub.title} makes a provider not ready, with one clear line, in time`,
      holds: 'every language runs a canary at the start, with a deadline',
      needsRoot: true,
      async scenario({ hostileClass }) {
        const name = hostileClass === 'namespace' ? 'crun' : 'runsc';
        // The separate process has a deadline. If the provider did not notice the failure, this call would reject.
        const answer = (await doSeparately({ kind: 'open', hostileClass }, hostWith(name, stub))) as {
          ready: boolean;
          message: string;
        };
        assert.equal(answer.ready, false);
        assert.match(answer.message, stub.problem);
        assert.ok(!answer.message.includes('\n'));
      },
    }),
  ),
];

function refusingSecondLimit({ group }: CellOptions, count: () => number): CellOptions['group'] {
  const limit: CellOptions['group']['limit'] = (limits) => {
    if (count() > 1) throw new Error('EACCES: permission denied');
    return group.limit(limits);
  };
  return Object.assign(Object.create(group) as typeof group, bound(group), { limit });
}

/**
 * A host on which one process and its children see another runtime and no stored results of the preflight.
 */
function hostWith(name: 'crun' | 'runsc', { script, version }: Stub): SeparateHost {
  const said = version ?? `${name} version ${name === 'crun' ? '1.8.1' : '0.0~20221219.0'}`;
  const stub = `#!/bin/sh\n[ "$1" = --version ] && { echo "${said}"; exit; }\n${script}\n`;
  const mode = script === null ? '644' : '755';
  return {
    changes: `
      mkdir -p /run/svc && mount -t tmpfs tmpfs /run/svc
      cat > /run/svc/stub <<'STUB'\n${stub}STUB
      chmod ${mode} /run/svc/stub
      mount --bind /run/svc/stub "$(command -v ${name})"`,
  };
}
