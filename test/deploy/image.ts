/**
 * `npm run image`: builds the image of `deploy/Containerfile` from a copy of this tree, and runs the service in its root, with
 * the rights of the compose file, in both classes. Podman builds in a storage of its own, and nothing of it is left. The base is
 * the published image of Debian with `--published`; else one made here of Debian's packages, which needs no registry of images.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copySources } from '../hosts/checkout.ts';
import { inRoot, makeCleanRoot, run } from '../set-up/clean-root.ts';
import { CLASSES, serviceProblems } from './capability-trial.ts';
import { unitCapabilities } from './unit.ts';

const BASE = 'docker.io/library/debian:bookworm-slim';
const NAME = 'localhost/vouchbox';

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Podman with its images below a directory. They need no file system of their own there. */
class Podman {
  readonly #words: readonly string[];

  constructor(directory: string) {
    const storage = ['--root', join(directory, 'storage'), '--runroot', join(directory, 'run')];
    this.#words = [...storage, '--storage-driver', 'vfs', '--cgroup-manager', 'cgroupfs'];
  }

  run(...words: readonly string[]): string {
    return run('podman', [...this.#words, ...words]).trim();
  }

  /** Builds from a directory, showing what is said. */
  build(directory: string): void {
    // This machine may not be able to run a container; the build then only has a root of its own.
    const words = ['build', '--isolation', 'chroot', '--network', 'host', '--pull=missing', '--layers=false'];
    const file = ['--file', join(directory, 'deploy/Containerfile')];
    const { status } = spawnSync('podman', [...this.#words, ...words, ...file, '--tag', NAME, directory], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    if (status !== 0) throw new Error('the image was not built');
  }
}

/** Makes a stand-in for Debian's published image: its essential packages, and apt's sources as that image has them. */
function makeBase(podman: Podman, work: string): void {
  const root = join(work, 'base');
  const settings = Object.entries(makeCleanRoot(root, [])).flatMap(([name, value]) => [
    '--change',
    `ENV ${name}=${value}`,
  ]);
  const archive = join(work, 'base.tar');
  run('tar', ['--create', '--file', archive, '--directory', root, '--one-file-system', '.']);
  podman.run('import', ...settings, archive, BASE);
  for (const path of [root, archive]) rmSync(path, { recursive: true });
}

/** The faults of the service in the root of the image. */
async function problemsIn(root: string, entrypoint: string): Promise<readonly string[]> {
  // The words of the trial begin with the command of this checkout, which is the name of the shell here.
  const within = [...inRoot(root, { shares: tmpdir() }), 'sh', '-c', `exec ${entrypoint} "$@"`];
  const problems: string[] = [];
  for (const isolated of CLASSES) {
    const found = await serviceProblems(isolated, unitCapabilities(), within);
    say(
      `a service of the class ${isolated}, from the image: ${found.join('; ') || 'all four jobs as wanted, a stop, nothing left'}`,
    );
    problems.push(...found);
  }
  return problems;
}

if (!existsSync('/usr/bin/podman')) {
  process.stderr.write(
    'npm run image: install podman (Debian, Ubuntu: apt-get install --no-install-recommends podman)\n',
  );
  process.exit(2);
}
const work = mkdtempSync(join(tmpdir(), 'svc-image-'));
const podman = new Podman(work);
try {
  if (!process.argv.includes('--published')) makeBase(podman, work);
  mkdirSync(join(work, 'context'));
  copySources(join(work, 'context'));
  podman.build(join(work, 'context'));
  const bytes = Number(podman.run('image', 'inspect', '--format', '{{.Size}}', NAME));
  say(`the image has ${Math.round(bytes / 1e6)} MB`);
  const entrypoint = podman.run('image', 'inspect', '--format', '{{index .Config.Entrypoint 0}}', NAME);
  const problems = await problemsIn(podman.run('image', 'mount', NAME), entrypoint);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  podman.run('image', 'unmount', '--all');
  rmSync(work, { recursive: true, force: true });
}
