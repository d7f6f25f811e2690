/** The process that `separate-service.ts` starts: does the task in a directory, and writes the answer there. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openProvider } from '../../packages/server/src/sandbox/prove/preflight.ts';
import { countHoldings } from './holdings.ts';
import { runMixedLoad } from './mixed-load.ts';
import type { SeparateTask } from './separate-service.ts';
import { Target, WORK_BYTES } from './target.ts';

const directory = process.argv[2] as string;
const task = JSON.parse(readFileSync(join(directory, 'task.json'), 'utf8')) as SeparateTask;
writeFileSync(join(directory, 'answer.json'), JSON.stringify(await answerTo(task)));

async function answerTo(given: SeparateTask): Promise<unknown> {
  switch (given.kind) {
    case 'attack':
      return await attackOnce(given);
    case 'load':
      return await countAround(given);
    case 'open':
      return await open(given);
    default:
      return given satisfies never;
  }
}

async function attackOnce({ hostileClass, attack }: SeparateTask & { kind: 'attack' }): Promise<unknown> {
  await using target = await Target.open(hostileClass);
  return await target.attack(attack);
}

/**
 * Counts the host's resources that this process holds before and after a load. An earlier load makes those that are kept.
 */
async function countAround({ hostileClass, jobs }: SeparateTask & { kind: 'load' }): Promise<unknown> {
  await using target = await Target.open(hostileClass);
  await runMixedLoad(target, Math.min(jobs, 15));
  const before = countHoldings(target.dataDirectory);
  const outcomes = await runMixedLoad(target, jobs);
  return { before, after: countHoldings(target.dataDirectory), outcomes };
}

/** Opens the provider as the service does, and reports what the provider found or why it refused. */
async function open({ hostileClass }: SeparateTask & { kind: 'open' }): Promise<unknown> {
  // The cases replace crun, so crun must be the launcher.
  const namespaceLauncher = 'crun' as const;
  const options = {
    choice: hostileClass,
    namespaceLauncher,
    packsDirectory: null,
    workBytes: WORK_BYTES,
    hostPostureSha256: null,
  };
  try {
    const { provider } = await openProvider({ ...options, instance: directory });
    const { languages, isolation_class } = provider;
    await provider[Symbol.asyncDispose]();
    return { ready: true, languages, isolation_class, left: readdirSync('/run/svc') };
  } catch (error) {
    return { ready: false, message: (error as Error).message };
  }
}
