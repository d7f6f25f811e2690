/** Ends the group of processes that one process leads. */
export function endGroup(leader: number | undefined, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    if (leader !== undefined) process.kill(-leader, signal);
  } catch {
    // It has ended.
  }
}
