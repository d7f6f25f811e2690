/** Gets a control group for this process from systemd's manager of this user, as `systemd-run --user --scope` does. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readCgroupLayout } from '../cgroup/layout.ts';

const SYSTEMD_RUN = '/usr/bin/systemd-run';
/** The manager's socket, by the number of its user. */
const managerOf = (user: number) => `/run/user/${user}/systemd/private`;
const NAME = 'vouchbox-';

/**
 * The words to put before a command, so that the command starts as this same process in a group with the memory and pids
 * controllers. Null if this process has groups or is already in such a scope, or if systemd is missing or refuses. The trial
 * command that this function starts has ended when the function returns.
 */
export function scopeWords(
  user: number = process.geteuid?.() ?? 0,
  ownGroups: string = readFileSync('/proc/self/cgroup', 'utf8'),
): readonly string[] | null {
  const { version, usable } = readCgroupLayout();
  if (version !== 'v2' || usable !== null || ownGroups.includes(`/${NAME}`)) return null;
  if (!existsSync(SYSTEMD_RUN) || !existsSync(managerOf(user))) return null;
  const options = ['--user', '--scope', '--quiet', '--collect', '--property=Delegate=yes'];
  const trial = spawnSync(SYSTEMD_RUN, [...options, '--', '/bin/true'], { timeout: 5000 });
  return trial.status === 0 ? [SYSTEMD_RUN, ...options, `--unit=${NAME}${process.pid}`, '--'] : null;
}
