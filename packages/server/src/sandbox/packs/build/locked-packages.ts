/**
 * The locked lists of a recipe: a `requirements.txt` for pip and a `package-lock.json` for npm. Every package in them has one
 * version and the digest of its archive, so that it does not matter which index serves it. Anything else that these files may say
 * (other files, addresses, options, programs to run) is refused.
 */
import { type Static, Type } from '@vouchbox/protocol';
import { Compile } from 'typebox/compile';
import { PackError } from '../pack-error.ts';

/** Where a pack keeps npm's packages, below its root. `NODE_PATH` leads `require` there. */
export const NODE_MODULES = 'usr/local/lib/node_modules';

const LOCK_CHARS_MAX = 4 * 1024 * 1024;

/** `name[extra]==version ; marker --hash=sha256:… --hash=sha256:…`. PEP 508, and pip's hash-checking mode. */
const REQUIREMENT =
  /^[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._, -]*\])? *== *[A-Za-z0-9.!+_]+ *(;[^-#\\]*?)?( +--hash=sha256:[0-9a-f]{64})+$/;

/** Control characters except tabs and line ends, and characters at which only Python's `splitlines` ends a line. */
const OTHER_LINE_END = /[^\P{Cc}\t\r\n]|[\u2028\u2029]|\r(?!\n)/u;
/** A line that names an encoding (PEP 263). pip decodes the file with it, and may then find lines that the check did not see. */
const ENCODING = /^#.*coding[:=]/;

/** Checks a requirements file. @throws PackError naming the first line that is not a locked wheel */
export function checkRequirements(text: string): string {
  checkLength(text);
  checkLines(text);
  const lines = text.replaceAll(/\\\r?\n/g, ' ').split(/\r?\n/);
  const requirements = lines.map((line) => line.replace(/(^|\s)#.*$/, '').trim()).filter((line) => line !== '');
  if (requirements.length === 0) throw new PackError('no requirement');
  const wrong = requirements.find((line) => !REQUIREMENT.test(line.replaceAll(/\s+/g, ' ')));
  if (wrong === undefined) return text;
  const problem = `${JSON.stringify(wrong.slice(0, 80))} is not NAME==VERSION with --hash=sha256:…`;
  const hashes = [...wrong.matchAll(/--hash=sha256:(\S*)/g)].map(([, digits = '']) => digits);
  const cut = hashes.find((digits) => !/^[0-9a-f]{64}$/.test(digits));
  throw new PackError(
    cut === undefined
      ? problem
      : `${problem}: a hash has 64 digits 0-9 and a-f, and one here has ${cut.length} characters`,
  );
}

/** @throws PackError naming the first line that pip may split in another way, such as a comment that ends in a backslash */
function checkLines(text: string): void {
  const odd = text.search(OTHER_LINE_END);
  if (odd !== -1) throw new PackError(`line ${text.slice(0, odd).split('\n').length} has a control character`);
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const at = `line ${index + 1}`;
    if (line.includes('#') && line.endsWith('\\')) throw new PackError(`${at} is a comment that ends in a backslash`);
    if (index < 2 && ENCODING.test(line)) throw new PackError(`${at} names an encoding, but the file is read as UTF-8`);
  }
}

/** The address of an archive. Its host must not be one that npm treats as a host of Git repositories. */
const ARCHIVE =
  '^https://(?!(www\\.)?((gist\\.)?github\\.com|gitlab\\.com|bitbucket\\.org|git\\.sr\\.ht)[:/])[a-z0-9.-]+(:[0-9]+)?/[^?#\\s]+\\.tgz$';

const Locked = Type.Object({
  /** A version. Without `resolved`, npm installs by the key and `name`, so `name` must not be a Git address. */
  version: Type.String({ pattern: '^[0-9]+\\.[0-9]+\\.[0-9]+([+-][0-9A-Za-z.+-]+)?$' }),
  name: Type.Optional(Type.String({ pattern: '^(@[a-z0-9~-][a-z0-9._~-]*/)?[A-Za-z0-9_~-][A-Za-z0-9._~-]*$' })),
  /** The address of the archive. If it is left out, the package comes from the registry that this host's npm uses. */
  resolved: Type.Optional(Type.String({ pattern: ARCHIVE })),
  integrity: Type.String({ pattern: '^sha512-[A-Za-z0-9+/]{86}==$' }),
  link: Type.Optional(Type.Literal(false)),
  inBundle: Type.Optional(Type.Literal(false)),
});

const Lockfile = Type.Object({
  lockfileVersion: Type.Union([Type.Literal(2), Type.Literal(3)]),
  packages: Type.Record(Type.String(), Type.Unknown()),
});
export type Lockfile = Static<typeof Lockfile>;

const lockfile = Compile(Lockfile);
const locked = Compile(Locked);
/** Where npm puts a package: a path that cannot lead out of the folder. */
const PLACE = /^(node_modules\/(@[a-z0-9~-][a-z0-9._~-]*\/)?[A-Za-z0-9_~-][A-Za-z0-9._~-]*(\/(?=node_modules)|$))+$/;

/** Checks a lockfile of npm 7 or later. @throws PackError naming the first package that is not locked */
export function checkLockfile(text: string): Lockfile {
  checkLength(text);
  const value = parsedJson(text);
  if (!lockfile.Check(value)) throw new PackError('not a package-lock.json of version 2 or 3');
  const entries = Object.entries(value.packages).filter(([place]) => place !== '');
  if (entries.length === 0) throw new PackError('no package');
  for (const [place, entry] of entries) {
    if (!PLACE.test(place))
      throw new PackError(`${JSON.stringify(place.slice(0, 80))} is not a place below node_modules`);
    if (!locked.Check(entry))
      throw new PackError(`${place} lacks a version, the https address of a .tgz or a sha512 digest`);
  }
  return value;
}

function checkLength(text: string): void {
  if (text.length > LOCK_CHARS_MAX) throw new PackError(`longer than ${LOCK_CHARS_MAX} characters`);
}

/** @throws PackError if the text is not JSON */
export function parsedJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new PackError(`not JSON: ${(cause as Error).message}`, { cause });
  }
}
