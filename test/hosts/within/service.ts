/**
 * Installs the unit from `deploy/` on this host as docs/operating/start.md says, and runs one job of each kind in each
 * class. Prints what failed, and exits with 1 if anything failed.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createServiceClient } from '@vouchbox/client';
import { CLASSES, type IsolatedClass, jobProblems } from '../../deploy/capability-trial.ts';
import { leftoversOf } from '../../rig/leftovers.ts';
import { UNIT_FILES } from './unit-rights.ts';

/** `user` tries the unit for an ordinary user. That unit has only one class. */
const isUser = process.argv[2] === 'user';
const UNIT = UNIT_FILES[isUser ? 'user' : 'unit'];
const URL = 'http://127.0.0.1:8080';
/** This only ends a start that hangs. The whole trial has its own bound. */
const READY_SECONDS_MAX = 1200;

function systemctl(...words: readonly string[]): string {
  return execFileSync('systemctl', words, { encoding: 'utf8' }).trim();
}

async function isReady(): Promise<boolean> {
  const answer = await fetch(`${URL}/readyz`).catch(() => null);
  return answer?.ok === true;
}

async function becomesReady(): Promise<boolean> {
  const deadline = performance.now() + READY_SECONDS_MAX * 1000;
  while (performance.now() < deadline) {
    if (await isReady()) return true;
    await delay(500);
  }
  return false;
}

function lastWords(): string {
  return execFileSync('journalctl', ['-u', UNIT, '-n', '3', '-o', 'cat'], { encoding: 'utf8' });
}

async function problemsOf(isolated: IsolatedClass): Promise<readonly string[]> {
  writeFileSync('/etc/vouchbox/vouchbox.env', `SERVICE_LEGACY_KEYS=alpha=key-of-alpha\nSERVICE_PROVIDER=${isolated}\n`);
  systemctl('start', UNIT);
  if (!(await becomesReady())) return [`not ready: ${lastWords()}`];
  const client = createServiceClient({ baseUrl: URL, apiKey: 'key-of-alpha' });
  const problems = await jobProblems(client);
  const { isolation_class } = await client.capabilities();
  systemctl('stop', UNIT);
  const result = systemctl('show', '--property=Result', '--value', UNIT);
  process.stdout.write(
    `${isolated}: ${isolation_class}, ${problems.length === 0 ? 'every job as expected' : 'problems'}\n`,
  );
  return [...problems, ...(result === 'success' ? [] : [`stopped: ${result}`]), ...leftoversOf('/var/lib/vouchbox')];
}

mkdirSync('/etc/vouchbox', { recursive: true });
copyFileSync(`/opt/vouchbox/deploy/${UNIT}`, `/etc/systemd/system/${UNIT}`);
systemctl('daemon-reload');
for (const isolated of CLASSES.filter((name) => !isUser || name === 'namespace')) {
  for (const problem of await problemsOf(isolated)) {
    process.stdout.write(`${isolated}: ${problem}\n`);
    process.exitCode = 1;
  }
}
