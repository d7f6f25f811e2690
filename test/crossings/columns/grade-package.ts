/** Grades a scenario's program with its problem package. Only the command reads such packages. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { vouchbox } from '../../rig/command.ts';
import type { Crossing } from '../crossing.ts';

/** Why a problem package cannot be tried at a place that makes gradings itself. */
export const READ_BY_THE_COMMAND =
  'A problem package is read by `vouchbox grade`, which sends what is in it as a grading.';

/** Returns the verdict that the command prints. */
export async function gradePackage({ directory, key, scenario, service }: Crossing): Promise<string> {
  const { program, problem = {} } = scenario;
  for (const [path, text] of Object.entries(problem)) {
    const file = join(directory, 'problem', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  writeFileSync(join(directory, 'solution.py'), program.code);
  const env = { SERVICE_URL: service.url, SERVICE_KEY: key };
  const words = ['grade', 'solution.py', '--tests', 'problem', '--check-inputs', '--json'];
  const { code, stdout, stderr } = await vouchbox(words, { env, cwd: directory });
  if (stdout === '') throw new Error(`vouchbox grade ended with ${code}: ${stderr}`);
  return stdout;
}
