/**
 * `npm run image`: builds the image of `deploy/Containerfile` from a copy of this tree, and runs the service in the image's root,
 * with the rights of the compose file, in both classes. Podman uses temporary storage. With `--published`, the base is Debian's
 * published image. Otherwise the base is made here from Debian's packages, without a registry of images.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inRoot } from '../set-up/clean-root.ts';
import { buildImage, NAME, Podman } from './built-image.ts';
import { CLASSES, serviceProblems } from './capability-trial.ts';
import { unitCapabilities } from './unit.ts';

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The faults of the service in the image's root. */
async function problemsIn(root: string, entrypoint: string): Promise<readonly string[]> {
  // The trial's command begins with the path of this checkout's vouchbox. Here, that path becomes the shell's $0.
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
try {
  const podman = buildImage(work, { isPublished: process.argv.includes('--published') });
  const bytes = Number(podman.run('image', 'inspect', '--format', '{{.Size}}', NAME));
  say(`the image has ${Math.round(bytes / 1e6)} MB`);
  const entrypoint = podman.run('image', 'inspect', '--format', '{{index .Config.Entrypoint 0}}', NAME);
  const problems = await problemsIn(podman.run('image', 'mount', NAME), entrypoint);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  new Podman(work).run('image', 'unmount', '--all');
  rmSync(work, { recursive: true, force: true });
}
