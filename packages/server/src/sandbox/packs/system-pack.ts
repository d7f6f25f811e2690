/** The runtime pack that every host has: the host's own `/usr`, read-only, and the interpreters found there. */

import { existsSync, readFileSync } from 'node:fs';
import { sha256Hex } from '@vouchbox/evidence';
import { GUEST } from '../cell/description.ts';
import { type Pack, SYSTEM_PACK } from '../cell/pack.ts';
import { versionOf } from '../kernel/host/executable.ts';
import { SYSTEM_LANGUAGES } from '../program/language-runs.ts';

/**
 * The host's own interpreters, read-only: `/usr/bin/python3`, `/bin/bash`, and the Node that this service runs on. The pack's
 * version and digest cover the versions that these interpreters report; the host's `/usr` itself is not hashed.
 */
export async function systemPack(): Promise<Pack> {
  const [python, bash] = await Promise.all([firstLine('/usr/bin/python3'), firstLine('/bin/bash')]);
  const versions = [python, `Node ${process.version}`, bash];
  const binds = [
    ...['/usr', ...mountsBelow('/usr')].map((path) => ({ source: path, destination: path })),
    { source: '/etc/alternatives', destination: '/etc/alternatives' },
    { source: process.execPath, destination: GUEST.node },
  ];
  return {
    name: SYSTEM_PACK,
    version: versions.map((text) => /\d+(\.\d+)+/.exec(text)?.[0] ?? 'none').join('-'),
    languages: [...SYSTEM_LANGUAGES],
    digest: sha256Hex(versions.join('\n')),
    binds: binds.filter(({ source }) => existsSync(source)),
    environment: [],
  };
}

/**
 * The mount points below a directory of this host, parents first. A cell's view of a file system ends at a mount point,
 * so each is mounted separately. `mountinfo` is the text of /proc/self/mountinfo (proc(5)).
 */
export function mountsBelow(directory: string, mountinfo = readFileSync('/proc/self/mountinfo', 'utf8')): string[] {
  const places = mountinfo.split('\n').map((line) => unescaped(line.split(' ')[4] ?? ''));
  return [...new Set(places)].filter((path) => path.startsWith(`${directory}/`)).toSorted();
}

/** Mountinfo writes a space, a tab, a line feed and a backslash as three octal digits. */
function unescaped(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/** The first line that an interpreter prints about its version, or a line that says that the interpreter is missing. */
async function firstLine(path: string): Promise<string> {
  try {
    return (await versionOf(path, /^(.+)/)) ?? '';
  } catch {
    return `${path} is missing`;
  }
}
