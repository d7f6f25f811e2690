import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';

const VOUCHBOX = fileURLToPath(new URL('../../bin/vouchbox', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '');

interface Template {
  readonly images: readonly { readonly arch: string; readonly location: string }[];
  readonly mounts: readonly object[];
  readonly provision: readonly { readonly script: string }[];
  readonly probes: readonly { readonly script: string }[];
  readonly portForwards: readonly object[];
}

/** Runs the command with this shell script as the host's `limactl`. Without a script, the host has no `limactl`. */
function vm(words: readonly string[], limactl?: string) {
  const directory = mkdtempSync(join(tmpdir(), 'svc-vm-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  if (limactl !== undefined) {
    writeFileSync(join(directory, 'limactl'), `#!/bin/sh\n${limactl}\n`);
    chmodSync(join(directory, 'limactl'), 0o755);
  }
  const env = { HOME: directory, PATH: `${directory}:/usr/bin:/bin` };
  const { status, stdout, stderr } = spawnSync(process.execPath, [`${VOUCHBOX}.mjs`, 'vm', ...words], {
    encoding: 'utf8',
    env,
  });
  const read = (name: string) => readFileSync(join(directory, name), 'utf8');
  return { status, stdout, stderr, read };
}

test('the virtual machine mounts one directory of the Mac, read-only, and forwards one port to the Mac', () => {
  const { status, stdout } = vm([]);
  expect(status).toBe(0);
  const { images, mounts, portForwards } = parse(stdout) as Template;
  expect(images.map(({ arch }) => arch)).toEqual(['aarch64', 'x86_64']);
  expect(mounts).toEqual([{ location: ROOT, mountPoint: '/mnt/vouchbox', writable: false }]);
  expect(portForwards).toEqual([
    { guestPort: 8080, hostPort: 8080, hostIP: '127.0.0.1' },
    { guestPortRange: [1, 65_535], ignore: true },
  ]);
});

test('the scripts of the virtual machine have valid shell syntax', () => {
  const { provision, probes } = parse(vm([]).stdout) as Template;
  for (const { script } of [...provision, ...probes]) {
    const shell = /^#!(\S+)/.exec(script)?.[1] ?? '';
    expect(spawnSync(shell, ['-n'], { input: script, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
  }
});

test('a checkout whose path has quotes and colons is mounted as one directory', () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-vm-odd "a": \\'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, 'tools'));
  writeFileSync(join(directory, 'tools/setup.mjs'), '');
  const { mounts } = parse(vm(['--checkout', directory]).stdout) as Template;
  expect(mounts).toEqual([expect.objectContaining({ location: directory })]);
});

const REMEMBER =
  'cd "$(dirname "$0")"; [ "$1" = list ] && { cat made; exit; }; echo "$@" > words; cat > template; exit 3';

test("vouchbox vm --start creates the machine from the template, and exits with Lima's exit code", () => {
  const { status, read } = vm(['--start'], `: > "$(dirname "$0")/made"; ${REMEMBER}`);
  expect(status).toBe(3);
  expect(read('words')).toBe('start --name=vouchbox --tty=false -\n');
  expect(read('template')).toBe(vm([]).stdout);
});

test('vouchbox vm --start starts an existing machine unchanged', () => {
  const { read } = vm(['--start'], `echo vouchbox > "$(dirname "$0")/made"; ${REMEMBER}`);
  expect(read('words')).toBe('start vouchbox\n');
});

test('vouchbox vm says so if Lima is not installed, or if the given directory is no checkout', () => {
  expect(vm(['--start']).stderr).toContain('brew install lima');
  const { status, stderr } = vm(['--checkout', '/usr']);
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('/usr is no checkout of Vouchbox') });
});
