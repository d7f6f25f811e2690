#!/usr/bin/env node
// Runs Vouchbox on the Node that runs this file. The script `vouchbox`, beside this file, finds the pinned Node. This file is
// plain JavaScript, so that any Node from version 18 on can read it, and an old one can report that it is too old.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const oldest = [26, 4];

function isNewEnough() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);
}

/** The nearest node_modules above this file. */
function packageDirectory() {
  for (let at = dirname(fileURLToPath(import.meta.url)); at !== dirname(at); at = dirname(at)) {
    const directory = join(at, 'node_modules');
    if (existsSync(directory)) return directory;
  }
  return undefined;
}

/**
 * Caches compiled sources beside their packages, for this process and its threads. The cache adds no risk: whoever can
 * write to it can change the sources as well. If this user cannot write there, nothing is cached.
 */
function keepCompiled() {
  const directory = packageDirectory();
  if (directory === undefined) return;
  process.env.NODE_COMPILE_CACHE ??= join(directory, '.cache', 'node');
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE);
}

if (isNewEnough()) {
  keepCompiled();
  await import('@vouchbox/server/near-imports');
  const { main } = await import('../src/vouchbox.ts');
  await main(process.argv);
} else {
  process.stderr.write(
    `vouchbox: Node ${process.versions.node} is too old, and the Node that comes with Vouchbox is not installed: install ` +
      `the packages again with their optional dependencies, or use Node ${oldest.join('.')} or newer\n`,
  );
  process.exitCode = 1;
}
