/** The compiled programs that start cells, as they are packaged. The programs for the other architecture run in emulation. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
// @ts-expect-error: the set-up is plain JavaScript.
import { installMissing } from '../../packages/server/setup/system-packages.mjs';
import { seccompProfile } from '../../packages/server/src/sandbox/kernel/seccomp/seccomp.ts';
import { ruleLine } from '../../packages/server/src/sandbox/kernel/seccomp/seccomp-rule.ts';
import { buildNativePrograms, type NativeList, newestGlibcMinor } from '../../tools/packages/build-natives.ts';

const scratch = mkdtempSync(join(tmpdir(), 'vouchbox-natives-'));
const native = join(scratch, 'package/native');
let list: NativeList;

beforeAll(() => {
  const tarball = inject('tarballs').find(({ name }) => name === '@vouchbox/server')?.path ?? '';
  execFileSync('tar', ['-xzf', tarball, '-C', scratch, 'package/native']);
  list = JSON.parse(readFileSync(join(native, 'digests.json'), 'utf8')) as NativeList;
});
afterAll(() => rmSync(scratch, { recursive: true }));

const NAMES = [
  ...['svc-canary', 'svc-enter', 'svc-filter', 'svc-init'],
  ...['svc-launcher', 'svc-launcher.so', 'svc-sentry', 'svc-stage'],
];

/** For each architecture: the machine in ELF headers, the emulator for other machines, and the audit architecture of filters. */
const ARCHITECTURES = [
  { name: 'x64', machine: 62, emulator: 'qemu-x86_64-static', audit: 0xc000003e },
  { name: 'arm64', machine: 183, emulator: 'qemu-aarch64-static', audit: 0xc00000b7 },
] as const;

describe.each(ARCHITECTURES)('the compiled programs for $name', ({ name, machine, emulator, audit }) => {
  const path = (program: string) => join(native, name, program);
  const run = (program: string, words: readonly string[], input = '') => {
    const command = name === process.arch ? [path(program), ...words] : [emulator, path(program), ...words];
    return spawnSync(command[0] as string, command.slice(1), { input });
  };

  beforeAll(() => {
    if (name !== process.arch && !existsSync(`/usr/bin/${emulator}`)) {
      installMissing(['qemu-user-static'], 'trials of programs for other architectures');
    }
  });

  test('have the digests of the list, are built for this architecture, and are executable', () => {
    for (const program of NAMES) {
      const bytes = readFileSync(path(program));
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      expect(list.programs[`${name}/${program}`]).toEqual({ sha256, size_bytes: bytes.length });
      expect([bytes.toString('latin1', 1, 4), bytes.readUInt16LE(18)]).toEqual(['ELF', machine]);
      expect(statSync(path(program)).mode & 0o111).toBe(0o111);
    }
  });

  test('are static, except one library that needs a glibc no newer than that of Ubuntu 22.04', () => {
    for (const program of NAMES) {
      // Every dynamically linked program contains the path of the dynamic loader.
      const isStatic = !readFileSync(path(program), 'latin1').includes('/ld-linux');
      expect([program, isStatic]).toEqual([program, true]);
    }
    expect(newestGlibcMinor(readFileSync(path('svc-launcher.so')))).toBeLessThanOrEqual(35);
  });

  test('can be started', () => {
    expect(run('svc-launcher', ['--version']).stdout.toString()).toMatch(/^svc-launcher version \d+\n$/);
    expect(run('svc-enter', []).stderr.toString()).toContain('svc-enter USERS GROUPS COUNT COMMAND');
    expect(run('svc-init', []).stderr.toString()).toContain('malformed words');
    expect(run('svc-sentry', []).stderr.toString()).toContain('too few words');
    expect(run('svc-stage', ['--no-such-word']).stderr.toString()).toContain('malformed word');
  });

  test('produce a seccomp filter for this architecture', () => {
    const { syscalls, defaultErrnoRet } = seccompProfile({ loopback: false, sharesHostKernel: false });
    const { status, stdout } = run(
      'svc-filter',
      [],
      [...syscalls.map(ruleLine), `otherwise ${defaultErrnoRet}`, ''].join('\n'),
    );
    expect(status).toBe(0);
    // The first instructions of the filter read the architecture of the call and compare it.
    expect([stdout.length % 8, stdout.readUInt32LE(4), stdout.readUInt32LE(12)]).toEqual([0, 4, audit]);
  });
});

test('building the programs again gives the same bytes', () => {
  expect(buildNativePrograms(join(scratch, 'again'))).toEqual(list);
});

test('the list of programs names the compiler and the libraries with which they were built', () => {
  expect(Object.keys(list.built_with).sort()).toEqual([
    'gcc',
    'libc6',
    'libc6-dev',
    'libseccomp-dev',
    'linux-libc-dev',
  ]);
  expect(Object.keys(list.programs)).toHaveLength(NAMES.length * ARCHITECTURES.length);
});
