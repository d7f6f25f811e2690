/** What a cell is made of: the bundle that a runtime gets, and the trees of runtime packs. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { LANGUAGES } from '@vouchbox/protocol';
import * as fc from 'fast-check';
import { type DescriptionOptions, GUEST } from '../../packages/server/src/sandbox/cell/description.ts';
import { FILTERING_PROCESS_ONE, PROCESS_ONE } from '../../packages/server/src/sandbox/cell/process-one.ts';
import { bundleConfig } from '../../packages/server/src/sandbox/classes/oci/bundle.ts';
import { sealPack } from '../../packages/server/src/sandbox/packs/build/seal-pack.ts';
import { loadPacks } from '../../packages/server/src/sandbox/packs/load-packs.ts';
import { type PackPlaces, packPlaces } from '../../packages/server/src/sandbox/packs/pack-store.ts';
import type { HostileCase, HostileClass } from './hostile-case.ts';

/** Those parts of a bundle that are checked. */
interface Bundle {
  readonly process: {
    readonly args: readonly string[];
    readonly env: readonly string[];
    readonly noNewPrivileges: boolean;
    readonly terminal: boolean;
    readonly capabilities: Readonly<Record<string, readonly string[]>>;
  };
  readonly root: { readonly readonly: boolean };
  readonly mounts: readonly {
    readonly source: string;
    readonly destination: string;
    readonly type: string;
    readonly options: readonly string[];
  }[];
  readonly linux: {
    readonly namespaces: readonly { readonly type: string; readonly path?: string }[];
    readonly uidMappings: readonly { readonly hostID: number }[];
    readonly seccomp: { readonly defaultAction: string; readonly architectures: readonly string[] };
  };
}

const NAMESPACES = ['cgroup', 'ipc', 'mount', 'network', 'pid', 'user', 'uts'];
/** The capabilities that process 1 needs to change the job's user and to limit the job. The job itself has none. */
const OF_PROCESS_ONE = ['CAP_KILL', 'CAP_SETGID', 'CAP_SETPCAP', 'CAP_SETUID', 'CAP_SYS_RESOURCE'];

const optionsFor = (hostileClass: HostileClass): fc.Arbitrary<DescriptionOptions> =>
  fc.record({
    sharesHostKernel: fc.constant(hostileClass === 'namespace'),
    language: fc.constantFrom(...LANGUAGES),
    cell: fc.uuid().map((id) => `/run/svc/svc-0123456789ab/cells/${id}/cell`),
    binds: fc
      .subarray(['/usr', '/etc', '/etc/alternatives', '/opt/svc/bin/node'])
      .map((places) => places.map((destination, at) => ({ source: `/run/svc/trees/${at}`, destination }))),
    environment: fc.subarray(['OPENBLAS_NUM_THREADS=1', 'MPLBACKEND=Agg']),
    rootUid: fc.integer({ min: 0x70000000, max: 0x7ffffffc }),
    temporaryBytes: fc.integer({ min: 1, max: 1 << 30 }),
    loopback: fc.boolean(),
  });

function lint(config: Bundle, given: DescriptionOptions): void {
  const { process: job, root, mounts, linux } = config;
  assert.deepEqual(
    { terminal: job.terminal, noNewPrivileges: job.noNewPrivileges, root: root.readonly },
    { terminal: false, noNewPrivileges: true, root: true },
  );
  // With loopback, crun starts in a network namespace that already has loopback. Nobody in the cell may change it.
  const isMadeBefore = given.sharesHostKernel && given.loopback;
  const namespaces = NAMESPACES.filter((type) => type !== 'network' || !isMadeBefore);
  assert.deepEqual(linux.namespaces.map(({ type }) => type).toSorted(), namespaces);
  assert.ok(
    linux.namespaces.every(({ path }) => path === undefined),
    'a namespace is joined, not made',
  );
  assert.ok(
    linux.uidMappings.every(({ hostID }) => hostID >= 0x70000000),
    'a user of the host is mapped',
  );
  assert.match(linux.seccomp.defaultAction, /^SCMP_ACT_(ERRNO|TRACE)$/, 'a call that nobody named is made');
  assert.equal(linux.seccomp.architectures.length, 1);
  assert.deepEqual([...(job.capabilities['bounding'] ?? [])].toSorted(), OF_PROCESS_ONE);
  assert.deepEqual([job.capabilities['inheritable'], job.capabilities['ambient']], [[], []]);
  assert.equal(job.args[0], GUEST.init);
  const binds = mounts.filter(({ type }) => type === 'bind');
  const writable = binds.filter((mount) => !mount.options.includes('ro'));
  assert.deepEqual(
    writable.map(({ source }) => source).toSorted(),
    ['report', 'work'].map((name) => `${given.cell}/${name}`),
  );
  assert.ok(
    writable.every(({ destination, options }) => options.includes('noexec') === (destination !== '/work')),
    'something can be executed where it need not',
  );
  assert.ok(binds.every((mount) => ['nosuid', 'nodev'].every((flag) => mount.options.includes(flag))));
  assert.deepEqual(
    mounts.filter(({ source, type }) => /\.sock$|cgroup|sysfs/.test(`${source} ${type}`)),
    [],
  );
}

/** A plain pack, sealed as by a build. */
function sealedPack(directory: string): PackPlaces {
  const built = join(directory, 'built');
  const files = {
    'usr/bin/perl': 'perl',
    'etc/environment': '',
    'etc/alternatives/none': '',
    'var/lib/dpkg/status': '',
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(built, path)), { recursive: true });
    writeFileSync(join(built, path), content);
  }
  const places = packPlaces(join(directory, 'packs'), 'spoilt', '1');
  sealPack(
    { name: 'spoilt', version: '1', languages: ['bash'], suite: 'bookworm', packages: [] },
    built,
    places.directory,
  );
  return places;
}

/** Ways to spoil a pack's tree after the tree was sealed. Each key names the fault that this makes. */
const SPOILT: Readonly<Record<string, (tree: string) => void>> = {
  ...Object.fromEntries(
    ['dev', 'proc', 'proc/sys', 'sys', 'run', 'work', 'svc', 'tmp', 'bin'].map((name) => [
      `a link at /${name}`,
      (tree: string) => {
        mkdirSync(dirname(join(tree, name)), { recursive: true });
        symlinkSync('/etc', join(tree, name));
      },
    ]),
  ),
  'a link in place of /usr': (tree) => {
    renameSync(join(tree, 'usr'), join(tree, '../usr'));
    symlinkSync('/usr', join(tree, 'usr'));
  },
  'a link in place of an interpreter': (tree) => {
    rmSync(join(tree, 'usr/bin/perl'));
    symlinkSync('/proc/self/exe', join(tree, 'usr/bin/perl'));
  },
  'another interpreter': (tree) => writeFileSync(join(tree, 'usr/bin/perl'), 'evil'),
  'a setuid bit': (tree) => chmodSync(join(tree, 'usr/bin/perl'), 0o4755),
  'a tree that others may write to': (tree) => chmodSync(join(tree, 'usr'), 0o777),
  'an unsealed file': (tree) => writeFileSync(join(tree, 'usr/bin/new'), ''),
};

export const bundleCases: readonly HostileCase[] = [
  {
    id: 'ESC-18',
    title: 'a runtime pack with a link where a cell mounts, or with anything unsealed, is not offered',
    holds: 'a pack brings only /usr and /etc; its tree is compared with its manifest at the start',
    scenario() {
      for (const [title, spoil] of Object.entries(SPOILT)) {
        const directory = mkdtempSync(join(tmpdir(), 'svc-hostile-packs-'));
        try {
          const { tree } = sealedPack(directory);
          assert.equal(loadPacks(join(directory, 'packs')).packs.length, 1, `${title}: before`);
          spoil(tree);
          const { packs, leftOut } = loadPacks(join(directory, 'packs'));
          assert.deepEqual([packs.length, leftOut.length], [0, 1], title);
        } finally {
          rmSync(directory, { recursive: true });
        }
      }
      return Promise.resolve();
    },
  },
  {
    id: 'ESC-35',
    title: 'each of a thousand bundles is closed: it has nothing writable of the host, and nothing of a submission',
    holds: 'the bundle is a pure function of the service’s choices; code and files never enter it',
    scenario({ hostileClass }) {
      fc.assert(
        fc.property(
          optionsFor(hostileClass),
          fc.constantFrom(PROCESS_ONE, FILTERING_PROCESS_ONE),
          (given, processOne) => lint(bundleConfig(given, processOne) as object as Bundle, given),
        ),
        { numRuns: 1000, seed: 35 },
      );
      return Promise.resolve();
    },
  },
];
