/**
 * Collects a workspace's outputs as the service does. Node allows this process only to read, so any call that would
 * change a file system throws. Prints what was collected, and the result of an attempted write.
 */
import { writeFileSync } from 'node:fs';
import { Workspace } from '../../packages/server/src/sandbox/program/output/workspace.ts';

const [directory = '', ...outputs] = process.argv.slice(2);
using workspace = new Workspace(directory, 'shared');
const { artifacts, violations } = workspace.collect(outputs);
process.stdout.write(
  JSON.stringify({ artifacts: artifacts.length, violations: violations.length, written: tryWriting() }),
);

function tryWriting(): string {
  try {
    writeFileSync(`${directory}/written`, '');
    return 'written';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'refused';
  }
}
