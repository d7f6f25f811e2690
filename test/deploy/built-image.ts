/** Builds the image in `deploy/Containerfile` from a copy of this tree, with Podman and without an image registry. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { copySources } from '../hosts/checkout.ts';
import { makeCleanRoot, run } from '../set-up/clean-root.ts';

const BASE = 'docker.io/library/debian:bookworm-slim';
export const NAME = 'localhost/vouchbox';

/** Podman with its images below a directory. Podman copies the layers there, so it needs no special file system. */
export class Podman {
  readonly #words: readonly string[];

  constructor(directory: string) {
    const storage = ['--root', join(directory, 'storage'), '--runroot', join(directory, 'run')];
    this.#words = [...storage, '--storage-driver', 'vfs', '--cgroup-manager', 'cgroupfs'];
  }

  run(...words: readonly string[]): string {
    return run('podman', [...this.#words, ...words]).trim();
  }

  /** Builds the image from a directory, and shows the build's output. */
  build(directory: string): void {
    // Builds in a chroot instead of a container, because this machine may not be able to run containers.
    const words = ['build', '--isolation', 'chroot', '--network', 'host', '--pull=missing', '--layers=false'];
    const file = ['--file', join(directory, 'deploy/Containerfile')];
    const { status } = spawnSync('podman', [...this.#words, ...words, ...file, '--tag', NAME, directory], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    if (status !== 0) throw new Error('the image was not built');
  }
}

/** Makes a stand-in for Debian's published image: Debian's essential packages, and apt's sources as in that image. */
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

/** Builds the image in the storage below this directory. Makes the base image unless Debian's published image is wanted. */
export function buildImage(work: string, { isPublished = false } = {}): Podman {
  const podman = new Podman(work);
  if (!isPublished) makeBase(podman, work);
  mkdirSync(join(work, 'context'));
  copySources(join(work, 'context'));
  podman.build(join(work, 'context'));
  return podman;
}
