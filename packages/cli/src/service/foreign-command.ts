/** Commands of the user's that this one runs, each with whatever it starts. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { foreignEnvironment } from './environment.ts';

/** Starts a command of a shell. It leads a group of processes, which `endGroup` ends: they would hold its output open. */
export function startCommand(command: string): ChildProcessWithoutNullStreams {
  return spawn('/bin/sh', ['-c', command], { env: foreignEnvironment(), detached: true });
}

/** Ends the group of processes that a command leads. */
export function endGroup({ pid }: ChildProcessWithoutNullStreams, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // It has ended.
  }
}
