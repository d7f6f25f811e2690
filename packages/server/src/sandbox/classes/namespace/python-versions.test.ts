/** The launcher's library works in every Python on this machine, because a template uses the Python of its host. */
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { nativePath } from '../../native/native.ts';

/** Python before 3.10 lacks functions that the library takes from its stable interface. */
const NAMES = ['/usr/bin/python3', ...[10, 11, 12, 13, 14, 15].map((minor) => `python3.${minor}`)];

/** Does what a template does, up to the point where it would make copies. */
const REHEARSAL = `
import _imp, sys
class Library:
    name = "launcher"
    origin = sys.argv[1]
launcher = _imp.create_dynamic(Library)
launcher.remember()
launcher.rehearse()
print("rehearsed")
`;

function isThere(python: string): boolean {
  try {
    execFileSync(python, ['-I', '-c', ''], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

it.each(NAMES.filter(isThere))('%s can load the launcher and fork a cell', (python) => {
  const said = execFileSync(python, ['-I', '-c', REHEARSAL, nativePath('svc-launcher.so')], { encoding: 'utf8' });
  expect(said).toBe('rehearsed\n');
});
