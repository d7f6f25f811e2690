/**
 * The locked lists of a recipe: a `requirements.txt` of pip and a `package-lock.json` of npm. Every package in them has
 * one version and the digest of its archive, so that it does not matter which index serves it. Anything else that these
 * files may say (other files, addresses, options, programs to run) is refused.
 */
import { type Static, Type } from '@vouchbox/protocol';
import { Compile } from 'typebox/compile';
import { PackError } from '../pack-error.ts';

/** Where npm's packages of a pack are, below its root; `NODE_PATH` leads `require` there. */
export const NODE_MODULES = 'usr/local/lib/node_modules';

const LOCK_CHARS_MAX = 4 * 1024 * 1024;

/** `name[extra]==version ; marker --hash=sha256:… --hash=sha256:…`. PEP 508, and pip's hash-checking mode. */
const REQUIREMENT =
  /^[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._, -]*\])? *== *[A-Za-z0-9.!+_]+ *(;[^-#\\]*?)?( +--hash=sha256:[0-9a-f]{64})+$/;

/** Checks a requirements file. @throws PackError naming the first line that is not a locked wheel */
export function checkRequirements(text: string): string {
  checkLength(text);
  const lines = text.replaceAll(/\\\r?\n/g, ' ').split(/\r?\n/);
  const requirements = lines.map((line) => line.replace(/(^|\s)#.*$/, '').trim()).filter((line) => line !== '');
  if (requirements.length === 0) throw new PackError('no requirement');
  const wrong = requirements.find((line) => !REQUIREMENT.test(line.replaceAll(/\s+/g, ' ')));
  if (wrong === undefined) return text;
  throw new PackError(`${JSON.stringify(wrong.slice(0, 80))} is not NAME==VERSION with --hash=sha256:…`);
}

const Locked = Type.Object({
  version: Type.String(),
  /** Left out, it comes from the registry that this host's npm uses. */
  resolved: Type.Optional(Type.String({ pattern: '^https://' })),
  integrity: Type.String({ pattern: '^sha512-[A-Za-z0-9+/]{86}==$' }),
});

const Lockfile = Type.Object({
  lockfileVersion: Type.Union([Type.Literal(2), Type.Literal(3)]),
  packages: Type.Record(Type.String(), Type.Unknown()),
});
export type Lockfile = Static<typeof Lockfile>;

const lockfile = Compile(Lockfile);
const locked = Compile(Locked);
/** Where npm puts a package. It must not lead out of the folder. */
const PLACE = /^(node_modules\/(@[a-z0-9~-][a-z0-9._~-]*\/)?[A-Za-z0-9_~-][A-Za-z0-9._~-]*(\/(?=node_modules)|$))+$/;

/** Checks a lockfile of npm 7 or later. @throws PackError naming the first package that is not locked */
export function checkLockfile(text: string): Lockfile {
  checkLength(text);
  const value = parsed(text);
  if (!lockfile.Check(value)) throw new PackError('not a package-lock.json of version 2 or 3');
  const entries = Object.entries(value.packages).filter(([place]) => place !== '');
  if (entries.length === 0) throw new PackError('no package');
  for (const [place, entry] of entries) {
    if (!PLACE.test(place))
      throw new PackError(`${JSON.stringify(place.slice(0, 80))} is not a place below node_modules`);
    if (!locked.Check(entry)) throw new PackError(`${place} has no https address with a sha512 digest`);
  }
  return value;
}

function checkLength(text: string): void {
  if (text.length > LOCK_CHARS_MAX) throw new PackError(`longer than ${LOCK_CHARS_MAX} characters`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PackError(`not JSON: ${(cause as Error).message}`, { cause });
  }
}
