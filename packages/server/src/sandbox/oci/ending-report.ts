/** Reads what process 1 of a cell wrote of the program's end, from a directory that no job can write to. */
import { parseWaitStatus, type WaitStatus } from '../ending.ts';
import type { Workspace } from '../workspace.ts';

/** How the program ended; null where process 1 did not live to write it. */
export function readEnding(report: Workspace): WaitStatus | null {
  const content = report.collect(['ending']).artifacts[0]?.content;
  return content === undefined ? null : parseWaitStatus(Buffer.from(content).toString('latin1'));
}
