/** A program's attacks on its input files, and on the output files that the service collects. */
import assert from 'node:assert/strict';
import { execFile as execFileWithCallback } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { fileBytesMax, filesTotalBytesMax } from '@vouchbox/protocol';
import type { Attack, HostileCase, Seen } from './hostile-case.ts';
import { answersOf, assertExited } from './seen.ts';
import { sizeFor } from './size.ts';

const execFile = promisify(execFileWithCallback);
const COLLECTOR = fileURLToPath(import.meta.resolve('./collect-outputs.ts'));
const LINKS = ['absolute', 'relative', 'process', 'loop', 'dangling', 'beside', 'linked/inside', 'outside/passwd'];
const NO_FILES = ['directory', 'fifo0', 'fifo1', 'fifo2', 'fifo3', 'fifo4', 'fifo5', 'fifo6', 'fifo7', 'socket'];
const PLAIN = ['plain', 'unreadable', 'closed/inside', 'setuid'];
const NAMED = [...LINKS, ...NO_FILES, ...PLAIN, 'first', 'second', 'hole', 'missing', 'plain/below', 'real/inside'];

const SPECIAL: Attack = {
  program: 'outputs-special.py',
  files: [{ path: 'input/given', content: Buffer.from('given') }],
  outputs: NAMED.map((name) => `output/${name}`),
  runs: 'once',
};

/** Sizes of outputs, keyed by name. */
const SIZES = {
  one: { exact: fileBytesMax, less: fileBytesMax - 1, over: fileBytesMax + 1 },
  sum: { a: fileBytesMax, b: fileBytesMax - 1, c: 1, d: 1, empty: 0 },
  sparse: { sparse15: 15 * 1024 * 1024, sparse1: 1024 * 1024, after: 10 },
} as const;

export const artifactCases: readonly HostileCase[] = [
  {
    id: 'ART-01',
    title: 'no output that is a symbolic link, or lies behind one, is ever followed',
    holds:
      'outputs are opened one name at a time from an open directory, without following links, when every process is dead',
    attack: SPECIAL,
    expect(seen) {
      assertExited(seen);
      assert.deepEqual(violationsOf(seen, LINKS), Array(LINKS.length).fill('output_path'));
      assert.deepEqual(artifactsOf(seen, LINKS), []);
    },
  },
  {
    id: 'ART-01',
    title: 'a link to the root in place of the output directory leads nowhere',
    holds: 'the directory itself is opened without following links',
    attack: { program: 'output-swapped.py', outputs: ['output/etc/passwd', 'output/work/main.py'] },
    expect(seen) {
      assertExited(seen);
      assert.deepEqual(seen.artifacts, []);
      assert.deepEqual(
        seen.violations.map(({ type }) => type),
        ['output_path', 'output_path'],
      );
    },
  },
  {
    id: 'ART-03',
    title: 'FIFOs, sockets and directories are refused without waiting',
    holds: 'opened without blocking, and checked before they are read',
    accepted: {
      gvisor: 'FIFOs and sockets exist only in gVisor’s own kernel: on the host they are missing',
    },
    attack: SPECIAL,
    expect(seen, { hostileClass }) {
      const expected = NO_FILES.map((name) =>
        hostileClass === 'namespace' || name === 'directory' ? 'output_kind' : 'output_missing',
      );
      assert.deepEqual(violationsOf(seen, NO_FILES), expected);
      assert.deepEqual(artifactsOf(seen, NO_FILES), []);
    },
  },
  {
    id: 'ART-04',
    title: 'a grandchild that keeps swapping a file and a link gains nothing',
    holds: 'outputs are read when no process of the job is alive',
    async scenario(target) {
      let left = sizeFor(target.hostileClass, RACES);
      const race = async () => {
        while (left-- > 0) {
          const { ending, artifacts } = await target.attack(RACE);
          assert.deepEqual(ending, { kind: 'exited', exit_code: 0 });
          assert.deepEqual(artifacts[0]?.path, 'output/kept');
          const contents = new Set(artifacts.map(({ content }) => Buffer.from(content).toString()));
          assert.deepEqual([...contents], ['right']);
        }
      };
      await Promise.all(Array.from({ length: 4 }, race));
    },
  },
  {
    id: 'ART-05',
    title: 'a file of 2 MiB is taken and one byte more is not, and the same holds for a sum of 4 MiB',
    holds: 'sizes are checked before anything is read',
    async scenario(target) {
      const one = await target.attack(sized(SIZES.one));
      assert.deepEqual(namesOf(one), ['exact', 'less']);
      assert.deepEqual(
        one.violations.map(({ type, path, observed }) => ({ type, path, observed })),
        [{ type: 'output_size', path: 'output/over', observed: fileBytesMax + 1 }],
      );
      const sum = await target.attack(sized(SIZES.sum));
      assert.deepEqual(namesOf(sum), ['a', 'b', 'c', 'empty']);
      assert.equal(
        sum.artifacts.reduce((total, { size_bytes }) => total + size_bytes, 0),
        filesTotalBytesMax,
      );
      assert.deepEqual(
        sum.violations.map(({ type, path }) => ({ type, path })),
        [{ type: 'output_size', path: 'output/d' }],
      );
    },
  },
  {
    id: 'ART-05',
    title: 'a sparse output comes back with zeros in its holes, unless its size exceeds the limit',
    holds: 'a file counts with its whole size, checked before anything is read',
    attack: sized(SIZES.sparse),
    expect(seen) {
      assertExited(seen);
      assert.deepEqual(namesOf(seen), ['sparse1', 'after']);
      assert.ok(seen.artifacts.every(({ content, sha256 }) => sha256 === digestOf(content)));
      assert.ok(Buffer.from(seen.artifacts[0]?.content ?? []).equals(Buffer.alloc(SIZES.sparse.sparse1)));
      assert.deepEqual(
        seen.violations.map(({ type, path }) => ({ type, path })),
        [{ type: 'output_size', path: 'output/sparse15' }],
      );
    },
  },
  {
    id: 'ART-06',
    title: 'a hard-linked output comes back under both names, and no link can be made to a file of others',
    holds: 'outputs are on a file system of the cell’s own; inputs, system and temporary files are other mounts',
    attack: SPECIAL,
    expect(seen) {
      assert.deepEqual(violationsOf(seen, ['first', 'second']), ['none', 'none']);
      assert.deepEqual(artifactsOf(seen, ['first', 'second']), ['twice', 'twice']);
      assert.deepEqual(answersOf<Record<string, string>>(seen), {
        '/usr/bin/perl': 'EXDEV',
        '/etc/passwd': 'EXDEV',
        '/svc/init': 'EXDEV',
        '/work/input/given': 'EXDEV',
        '/proc/self/status': 'EXDEV',
        '/tmp/own': 'EXDEV',
      });
    },
  },
  {
    id: 'ART-09',
    title: 'directories deeper than any path can name do no harm, and are removed afterwards',
    holds: 'the file system is unmounted, not emptied',
    async scenario(target) {
      const running = await target.start({ program: 'deep-path.py', outputs: ['output/none'] });
      const seen = await running.seen;
      assertExited(seen);
      assert.equal(seen.stdout, 'dug\n');
      assert.deepEqual(
        seen.violations.map(({ type }) => type),
        ['output_missing'],
      );
    },
  },
  {
    id: 'ART-10',
    title: 'outputs that have no permissions, or are in a directory without any, still come back',
    holds: 'the service reads as root, and only plain files of the job',
    attack: SPECIAL,
    expect(seen) {
      assert.deepEqual(artifactsOf(seen, ['unreadable', 'closed/inside']), ['unreadable', 'inside']);
    },
  },
  {
    id: 'ART-11',
    title: 'only the content of an output is taken: no mode, no owner, no attribute',
    holds: 'artifacts are bytes in the store',
    attack: SPECIAL,
    expect(seen) {
      const artifact = seen.artifacts.find(({ path }) => path === 'output/setuid');
      assert.deepEqual(Object.keys(artifact ?? {}).toSorted(), ['content', 'path', 'sha256', 'size_bytes']);
    },
  },
  {
    id: 'ART-15',
    title: 'collecting outputs writes, chmods, chowns, removes and makes nothing, whatever a program left',
    holds: 'the collector opens and reads; a job’s files are unmounted, not removed',
    async scenario() {
      const { directory, outputs } = plantOutputs();
      try {
        const readOnly = ['--permission', '--allow-fs-read=*', COLLECTOR];
        const { stdout } = await execFile(process.execPath, [...readOnly, directory, ...outputs]);
        assert.deepEqual(JSON.parse(stdout), { artifacts: 1, violations: 4, written: 'ERR_ACCESS_DENIED' });
      } finally {
        rmSync(directory, { recursive: true });
      }
    },
  },
  {
    id: 'ART-16',
    title:
      'everything that the service writes into a workspace is there before the program runs, and nothing comes later',
    holds: 'files are written when a program is handed over; nothing opens the workspace for writing later',
    attack: { program: 'watch-workspace.py', files: [{ path: 'input/given', content: Buffer.from('given') }] },
    expect(seen) {
      assertExited(seen);
      const { first, last } = answersOf<{ first: object; last: object }>(seen);
      assert.deepEqual(first, last);
      assert.deepEqual(Object.keys(first).toSorted(), ['input', 'input/given', 'main.py', 'output']);
    },
  },
  {
    id: 'ART-13',
    title: 'inputs cannot be changed, removed, renamed, replaced or added to',
    holds: 'a read-only mount',
    attack: { program: 'overwrite-inputs.py', files: [{ path: 'input/given', content: Buffer.from('given') }] },
    expect(seen) {
      assertExited(seen);
      const { content, ...answers } = answersOf<Record<string, string>>(seen);
      assert.equal(content, 'given');
      assert.deepEqual(
        Object.entries(answers).filter(([, answer]) => !/^(EROFS|EACCES|EPERM|EBUSY)$/.test(answer)),
        [],
      );
    },
  },
  {
    id: 'ART-14',
    title: 'an output that was not written is a violation that names it, and changes nothing else',
    holds: 'each output is checked by itself',
    attack: SPECIAL,
    expect(seen) {
      assertExited(seen);
      assert.deepEqual(violationsOf(seen, ['missing', 'plain/below']), ['output_missing', 'output_path']);
      assert.deepEqual(artifactsOf(seen, ['plain', 'real/inside']), ['plain', 'inside']);
    },
  },
];

/** Fills a directory on this host with files that a program may leave. Only the collector reads this directory. */
function plantOutputs(): { directory: string; outputs: string[] } {
  const directory = mkdtempSync(join(tmpdir(), 'svc-hostile-outputs-'));
  const output = join(directory, 'output');
  mkdirSync(join(output, 'closed'), { recursive: true });
  writeFileSync(join(output, 'plain'), 'plain', { mode: 0 });
  writeFileSync(join(output, 'closed/inside'), 'inside');
  chmodSync(join(output, 'closed'), 0);
  symlinkSync('/etc', join(output, 'outside'));
  linkSync(join(output, 'plain'), join(output, 'second'));
  const names = ['plain', 'closed/inside', 'outside/passwd', 'second', 'missing'];
  return { directory, outputs: names.map((name) => `output/${name}`) };
}

function digestOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** How many times the collector runs while a program keeps swapping a file and a link. */
const RACES = { namespace: 30, gvisor: 8, full: 1000 } as const;
const RACE: Attack = { program: 'rename-race.py', outputs: ['output/kept', 'output/raced'] };

function sized(sizes: Readonly<Record<string, number>>): Attack {
  return {
    program: 'output-sizes.py',
    values: { SIZES: JSON.stringify(sizes) },
    outputs: Object.keys(sizes).map((name) => `output/${name}`),
  };
}

function namesOf(seen: Seen): string[] {
  return seen.artifacts.map(({ path }) => path.slice('output/'.length));
}

/** The violation's type for each of these outputs; `none` if an output has no violation. */
function violationsOf(seen: Seen, names: readonly string[]): string[] {
  return names.map((name) => seen.violations.find(({ path }) => path === `output/${name}`)?.type ?? 'none');
}

function artifactsOf(seen: Seen, names: readonly string[]): string[] {
  const wanted = names.map((name) => `output/${name}`);
  return seen.artifacts
    .filter(({ path }) => wanted.includes(path))
    .map(({ content }) => Buffer.from(content).toString());
}
