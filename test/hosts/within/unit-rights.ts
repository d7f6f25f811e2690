/** Runs a trial with the rights that the unit of `deploy/` gives to the service: the unit, with another command. */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Ended, Trial } from './trials.ts';

const run = promisify(execFile);
const UNITS = '/run/systemd/system';
const NAME = 'vouchbox-rights.service';
const LOG = '/run/vouchbox-rights.log';
/** systemd looks for a command in directories of its own; this looks in PATH. */
const SHELL = ['/bin/sh', '-c', 'exec "$@"', 'sh'];
/** Settings that are about the service itself, and not about its rights. */
const ITS_OWN = /^(Exec\w+|Type|Restart\w*|EnvironmentFile|Environment|WantedBy|KillMode|Documentation)=/;

/** Its `code` is null if it did not end in time. */
export async function withinUnit(trial: Trial): Promise<Ended> {
  mkdirSync(UNITS, { recursive: true });
  writeFileSync(`${UNITS}/${NAME}`, unitText(trial));
  writeFileSync(LOG, '');
  await run('systemctl', ['daemon-reload']);
  const code = await run('systemctl', ['start', NAME]).then(
    () => 0,
    () => 1,
  );
  const { stdout } = await run('systemctl', ['show', '--property=Result', '--value', NAME]);
  await run('systemctl', ['reset-failed', NAME]).catch(() => {});
  return { code: stdout.trim() === 'timeout' ? null : code, output: readFileSync(LOG, 'utf8') };
}

function unitText({ command, env = {}, secondsMax }: Trial): string {
  const kept = readFileSync('/opt/vouchbox/deploy/vouchbox.service', 'utf8')
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
    // The tests keep what they compiled there.
    'ReadWritePaths=/opt/vouchbox/node_modules',
    ...Object.entries(environment).map(([name, value]) => `Environment="${name}=${value}"`),
  ];
  return kept.toSpliced(place, 0, ...own).join('\n');
}

/** One word of a command line. systemd.service(5). */
function quoted(word: string): string {
  const escaped = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
  return `"${escaped.replaceAll('%', '%%').replaceAll('$', '$$$$')}"`;
}
