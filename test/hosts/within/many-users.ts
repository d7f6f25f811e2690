/**
 * Gives this host twenty thousand users. Three users then run a program at the same time: one who is in no file of users (as
 * with a directory service), one whose subordinate ids are the last of many, and one without subordinate ids. Prints a line
 * for each of the three, and exits with 1 if a program printed nothing.
 */
import { execFile } from 'node:child_process';
import { appendFileSync, chownSync, mkdirSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);
const COUNT = 20_000;
const FIRST = 100_000;
/** How many subordinate ids each user has: as many as useradd(8) gives. */
const RANGE = 65_536;
const PROGRAM = 'import os; print("heard from", os.getuid())';

interface User {
  readonly title: string;
  readonly uid: number;
}

const USERS: readonly User[] = [
  { title: 'a user whom no file has', uid: 1_879_048_193 },
  { title: 'a user with subordinate ids', uid: FIRST + COUNT - 1 },
  { title: 'a user without', uid: FIRST + COUNT },
];

function makeUsers(): void {
  const uids = Array.from({ length: COUNT + 1 }, (_, at) => FIRST + at);
  const nameOf = (uid: number) => `u${uid}@example.org`;
  const lines = (lineOf: (uid: number) => string) => uids.map((uid) => `${lineOf(uid)}\n`).join('');
  appendFileSync(
    '/etc/passwd',
    lines((uid) => `${nameOf(uid)}:x:${uid}:${uid}::/home/${uid}:/bin/sh`),
  );
  appendFileSync(
    '/etc/group',
    lines((uid) => `${nameOf(uid)}:x:${uid}:`),
  );
  const ranges = uids.slice(0, -1).map((uid, at) => `${nameOf(uid)}:${FIRST * 2 + at * RANGE}:${RANGE}\n`);
  for (const file of ['/etc/subuid', '/etc/subgid']) appendFileSync(file, ranges.join(''));
}

async function heard({ title, uid }: User): Promise<boolean> {
  const home = `/home/${uid}`;
  mkdirSync(home, { recursive: true, mode: 0o700 });
  chownSync(home, uid, uid);
  const user = ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', 'env', `HOME=${home}`];
  const words = [...user, 'vouchbox', 'run', '--language', 'python', '--json', '-'];
  const started = run('sh', ['-c', `printf %s '${PROGRAM}' | "$@"`, 'sh', ...words], { cwd: home });
  const { stdout, stderr } = await started.catch((error: { stdout: string; stderr: string }) => error);
  const isHeard = stdout.includes('heard from');
  process.stdout.write(`${title}: ${isHeard ? 'heard' : `not heard: ${stderr.trim().split('\n').at(-1)}`}\n`);
  return isHeard;
}

makeUsers();
const all = await Promise.all(USERS.map(heard));
if (all.includes(false)) process.exitCode = 1;
