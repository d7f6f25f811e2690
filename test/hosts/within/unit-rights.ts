/**
 * Runs a trial with the rights that a unit in `deploy/` gives to the service: a copy of the unit runs the trial's command. One
 * unit is for root, and the other is for an ordinary user. The ordinary user is made first.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Ended, Trial } from './trials.ts';

const run = promisify(execFile);
const UNITS = '/run/systemd/system';
const NAME = 'vouchbox-rights.service';
const LOG = '/run/vouchbox-rights.log';
/** The signal's number, as systemd prints it. */
const SIGSEGV = '11';
/** Finds the command in PATH. systemd itself would look only in its own list of directories. */
const SHELL = ['/bin/sh', '-c', 'exec "$@"', 'sh'];
/** Settings that concern the service itself and not its rights. */
const ITS_OWN = /^(Exec\w+|Type|Restart\w*|EnvironmentFile|Environment|WantedBy|KillMode|Documentation)=/;

export const UNIT_FILES = { unit: 'vouchbox.service', user: 'vouchbox-user.service' } as const;
export type UnitRights = keyof typeof UNIT_FILES;

/** Makes the unit's user as docs/operating/start.md says, and gives this user the checkout. */
export function makeUser(): void {
  const home = ['--home-dir', '/var/lib/vouchbox', '--create-home'];
  execFileSync('useradd', ['--system', '--user-group', ...home, 'vouchbox']);
  execFileSync('usermod', ['--add-subuids', '100000-165535', '--add-subgids', '100000-165535', 'vouchbox']);
  execFileSync('chown', ['--recursive', 'vouchbox:', '/opt/vouchbox']);
}

/** Runs the trial in a unit with these rights. The `code` is null if the trial did not end in time. */
export async function withinUnit(trial: Trial, rights: UnitRights): Promise<Ended> {
  mkdirSync(UNITS, { recursive: true });
  writeFileSync(`${UNITS}/${NAME}`, unitText(trial, rights));
  writeFileSync(LOG, '');
  await run('systemctl', ['daemon-reload']);
  const code = await run('systemctl', ['start', NAME]).then(
    () => 0,
    () => 1,
  );
  const { stdout } = await run('systemctl', ['show', '--property=Result', '--value', NAME]);
  const { stdout: status } = await run('systemctl', ['show', '--property=ExecMainStatus', '--value', NAME]);
  await run('systemctl', ['reset-failed', NAME]).catch(() => {});
  const output = readFileSync(LOG, 'utf8');
  const hasCrashed = /^(?:signal|core-dump)$/.test(stdout.trim()) && status.trim() === SIGSEGV;
  return {
    code: stdout.trim() === 'timeout' ? null : code,
    output: hasCrashed ? `${output}\nended by SIGSEGV` : output,
  };
}

function unitText({ command, env = {}, secondsMax }: Trial, rights: UnitRights): string {
  const kept = readFileSync(`/opt/vouchbox/deploy/${UNIT_FILES[rights]}`, 'utf8')
    .split('\n')
    .filter((line) => !ITS_OWN.test(line));
  const place = kept.indexOf('[Service]') + 1;
  const environment = { PATH: process.env['PATH'] ?? '', HOME: '/var/lib/vouchbox', ...env };
  const own = [
    ...['Type=oneshot', `TimeoutStartSec=${secondsMax}`, 'KillMode=mixed', 'WorkingDirectory=/opt/vouchbox'],
    ...[
      `ExecStart=${[...SHELL, ...command].map(quoted).join(' ')}`,
      `StandardOutput=append:${LOG}`,
      `StandardError=append:${LOG}`,
    ],
    // The tests store what they compile in this directory.
    'ReadWritePaths=/opt/vouchbox/node_modules',
    ...Object.entries(environment).map(([name, value]) => `Environment="${name}=${value}"`),
  ];
  return kept.toSpliced(place, 0, ...own).join('\n');
}

/** One word for a command line, quoted. systemd.service(5). */
function quoted(word: string): string {
  const escaped = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
  return `"${escaped.replaceAll('%', '%%').replaceAll('$', '$$$$')}"`;
}
