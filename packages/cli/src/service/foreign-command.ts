/** Starts the user's commands, and ends each command together with all processes that it started. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { foreignEnvironment } from './environment.ts';

/** The variable that marks the processes started by a command. If one command starts another, the inner one has both marks. */
const MARKS = 'VOUCHBOX_COMMAND';

const marks = new WeakMap<ChildProcessWithoutNullStreams, string>();

/** Starts a shell command as the leader of a process group. When the command ends, all its processes are ended. */
export function startCommand(command: string): ChildProcessWithoutNullStreams {
  const mark = randomUUID();
  const { [MARKS]: outer, ...environment } = foreignEnvironment();
  const env = { ...environment, [MARKS]: outer === undefined ? mark : `${outer} ${mark}` };
  const child = spawn('/bin/sh', ['-c', command], { env, detached: true });
  marks.set(child, mark);
  // A process that went on would hold the command's output open.
  child.once('exit', () => endCommand(child));
  return child;
}

/** Ends a command with its process group. SIGKILL also ends processes that have left the group, as daemons do. */
export function endCommand(child: ChildProcessWithoutNullStreams, signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): void {
  if (child.pid === undefined) return;
  end(-child.pid, signal);
  if (signal === 'SIGKILL') endMarked(marks.get(child) ?? '');
}

/** The most rounds of finding and ending processes. Processes may survive if they start others faster than these are found. */
const roundsMax = 20;

function endMarked(mark: string): void {
  for (let round = 0; round < roundsMax; round++) {
    const left = processIds().filter((pid) => environmentOf(pid).includes(mark));
    if (left.length === 0) return;
    for (const pid of left) end(pid, 'SIGKILL');
  }
}

/** The ids of all processes; none on a host without `/proc`. On such a host, processes that left the group go on. */
function processIds(): readonly number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** The environment of a process; empty if the process has ended, or belongs to another user. */
function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}

function end(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}
