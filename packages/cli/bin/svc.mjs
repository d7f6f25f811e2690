#!/usr/bin/env node
// Starts svc on a Node that can run its sources. An older one, as a system may have, hands over to the pinned Node that
// was installed beside the packages. Plain JavaScript, so that any Node from 18 on can read it.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const oldest = [26, 4];

function isNewEnough() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);
}

/** Every node_modules above this file, the nearest first. */
function* packageDirectories() {
  for (let at = dirname(fileURLToPath(import.meta.url)); at !== dirname(at); at = dirname(at)) {
    const directory = join(at, 'node_modules');
    if (existsSync(directory)) yield directory;
  }
}

/** The `node` of the nearest node_modules above this file that is not the one running. */
function findPinnedNode() {
  for (const directory of packageDirectories()) {
    const candidate = join(directory, '.bin', 'node');
    if (existsSync(candidate) && realpathSync(candidate) !== realpathSync(process.execPath)) return candidate;
  }
  return null;
}

/**
 * Keeps compiled sources beside the packages that they come from, for this process and its threads: who can write there
 * can change the sources as well. Where this user cannot, nothing is kept.
 */
function keepCompiled() {
  const [directory] = packageDirectories();
  if (directory === undefined) return;
  process.env.NODE_COMPILE_CACHE ??= join(directory, '.cache', 'node');
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE);
}

/** Runs this same command on another Node and ends as it ends. */
function handOver(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  // The child decides what a signal means. One from a terminal reaches the whole group by itself.
  process.on('SIGINT', () => {});
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`svc: ${node} could not be started: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

if (isNewEnough()) {
  keepCompiled();
  const { main } = await import('../src/svc.ts');
  await main(process.argv);
} else {
  const node = findPinnedNode();
  if (node === null) {
    process.stderr.write(
      `svc: Node ${process.versions.node} is too old; run \`npm run setup\` in the repository, ` +
        `which installs the pinned Node, or use Node ${oldest.join('.')} or newer\n`,
    );
    process.exitCode = 1;
  } else {
    handOver(node);
  }
}
