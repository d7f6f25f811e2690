/**
 * Runs `npm ci` on the pinned Node. npm silently leaves out optional packages, such as native parts of the tools, that need a
 * newer Node than the one that runs npm. So if this Node is too old for the sources, the pinned Node is fetched alone first, and
 * then runs npm. This file is plain JavaScript for any Node from 18 on.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';

/** The oldest Node that runs the sources. */
const OLDEST = [26, 4];

/**
 * Installs the packages that package-lock.json in `root` names.
 * @param {string} root
 * @param {{ say: (line: string) => void, host?: { platform: string, arch: string, version: string } }} options `version` is
 *   that of the Node which runs npm
 * @throws {Error} that says in one line what is needed, before anything is installed, if no Node is pinned for the host
 */
export function installPackages(root, { say, host = process }) {
  if (isNewEnough(host)) {
    npmCi(root, process.execPath);
    return;
  }
  const pinned = pinnedNode(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')), host);
  say(`npm runs on Node ${host.version}, which is too old for some packages: fetching ${pinned.version} first`);
  const scratch = mkdtempSync(join(tmpdir(), 'svc-node-'));
  try {
    npmCi(root, fetchNode(pinned, scratch));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Whether this Node runs the sources. */
export function isNewEnough({ version }) {
  const [major, minor] = version.slice('v'.length).split('.').map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

/**
 * The package in the lock that has the Node for a host.
 * @param {{ packages: Record<string, { version: string, integrity: string, bin?: object, os?: string, cpu?: string }> }} lock
 * @param {{ platform: string, arch: string, version: string }} host
 * @throws {Error} that says in one line what is needed, if there is none
 * @returns {{ name: string, version: string, integrity: string, program: string }} `program` is a path in the package
 */
export function pinnedNode({ packages }, { platform, arch, version }) {
  for (const [path, { bin, os, cpu, version: own, integrity }] of Object.entries(packages)) {
    if (bin?.node === undefined || os !== platform || cpu !== arch) continue;
    return { name: path.slice('node_modules/'.length), version: own, integrity, program: bin.node };
  }
  throw new Error(
    `no Node is pinned for ${platform}-${arch}, and this one is ${version}: install Node ${OLDEST.join('.')} or newer`,
  );
}

/** Lets npm install one package with its digest in our lock, and checks that its Node starts. Returns the path of that Node. */
function fetchNode({ name, version, integrity, program }, directory) {
  const write = (file, value) => writeFileSync(join(directory, file), JSON.stringify(value));
  const wanted = { name: 'first-node', version: '1.0.0', dependencies: { [name]: version } };
  write('package.json', wanted);
  write('package-lock.json', {
    ...{ name: wanted.name, version: wanted.version, lockfileVersion: 3, requires: true },
    packages: { '': wanted, [`node_modules/${name}`]: { version, integrity } },
  });
  npmCi(directory, process.execPath);
  const node = join(directory, 'node_modules', name, program);
  try {
    execFileSync(node, ['--version'], { stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    throw new Error(`the pinned Node does not start here: ${String(error.stderr || error.message).trim()}`);
  }
  return node;
}

/** Runs `npm ci` in a directory on this Node, with the npm that the user started, or else the npm in PATH. */
function npmCi(directory, node) {
  const npm = process.env.npm_execpath;
  // npm's own script begins with `#!/usr/bin/env node`, which might find another Node.
  const [command, first] = npm?.endsWith('.js') ? [node, ['--no-deprecation', npm]] : ['npm', []];
  const PATH = [dirname(node), process.env.PATH].join(delimiter);
  execFileSync(command, [...first, 'ci', '--no-audit', '--no-fund'], {
    cwd: directory,
    env: { ...process.env, PATH },
    stdio: ['ignore', 2, 2],
  });
}
