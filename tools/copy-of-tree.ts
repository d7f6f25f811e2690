/** Copies the project into a directory of its own, where sources can be changed and tests can run. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
/** The directory with published vectors, which may be beside this clone. */
const BESIDE = join(ROOT, '../shared');
/** The installed modules that are links to the sources. In the copy, they must link to the copy's own sources. */
const OWN = ['@vouchbox', 'vouchbox', '.bin'];

export interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export interface TreeCopy extends AsyncDisposable {
  readonly path: string;
  /** Replaces the only occurrence of `from`; disposing the result undoes this. Null if there is not exactly one occurrence. */
  changed(change: Change): Disposable | null;
  /** Replaces the whole text of a file; disposing the result undoes this. */
  replaced(file: string, text: string): Disposable;
}

/** The files that the set-up built. Without them, cells would not be made in the usual way. */
const BUILT = 'packages/server/native';

/** Copies everything that git tracks or would track, and what was installed and built for the original. */
export async function copyOfTree(): Promise<TreeCopy> {
  const base = mkdtempSync(join(tmpdir(), 'svc-copy-'));
  // Programs that run as other users read the launchers in this directory.
  chmodSync(base, 0o755);
  const path = join(base, 'tree');
  if (existsSync(BESIDE)) symlinkSync(BESIDE, join(base, 'shared'));
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  const files = listed.toString().split('\0');
  for (const file of files.filter((name) => name !== '' && existsSync(join(ROOT, name)))) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    cpSync(join(ROOT, file), join(path, file));
  }
  linkModules(path);
  if (existsSync(join(ROOT, BUILT))) cpSync(join(ROOT, BUILT), join(path, BUILT), { recursive: true });
  return {
    path,
    changed: (change) => changedFile(join(path, change.file), change),
    replaced: (file, text) => replacedFile(join(path, file), text),
    async [Symbol.asyncDispose]() {
      rmSync(base, { recursive: true });
    },
  };
}

function linkModules(path: string): void {
  mkdirSync(join(path, 'node_modules'));
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    const [from, to] = [join(ROOT, 'node_modules', name), join(path, 'node_modules', name)];
    if (OWN.includes(name)) cpSync(from, to, { recursive: true, verbatimSymlinks: true });
    else if (!name.startsWith('.')) symlinkSync(from, to);
  }
}

function changedFile(file: string, { from, to }: Change): Disposable | null {
  const [before, after, ...more] = readFileSync(file, 'utf8').split(from);
  if (before === undefined || after === undefined || more.length > 0) return null;
  return replacedFile(file, before + to + after);
}

function replacedFile(file: string, text: string): Disposable {
  const before = readFileSync(file, 'utf8');
  writeFileSync(file, text);
  return { [Symbol.dispose]: () => writeFileSync(file, before) };
}
