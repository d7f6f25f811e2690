/**
 * Kills the service at random moments: while it starts, while it recovers, and under load. Starts it again after each kill.
 * At the end, audits every promise that the service made. The moments come from a seed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { leftoversOf } from '../rig/leftovers.ts';
import { type Audit, auditJobs, runProblems } from './audit.ts';
import { ServiceProcess } from './service-process.ts';
import { problemsOfLostEnd, tearLogBehindEnd } from './torn-log.ts';
import { Witness } from './witness.ts';
import { type Load, seeded, Workload } from './workload.ts';

export interface RandomKillsOptions extends Load {
  readonly kills: number;
  readonly seed: number;
  /** The longest time that a service may work before it is killed. */
  readonly millisecondsMax: number;
  /** Called after each kill. */
  readonly onKill?: (count: number) => void;
}

export interface RandomKills extends Audit {
  readonly kills: number;
  /** How many kills came before the service was listening. */
  readonly killsWhileStarting: number;
  /** How many answers were lost because the service was killed. */
  readonly lostAnswers: number;
  readonly cancellations: number;
  /** How many programs the witness saw begin. */
  readonly ran: number;
  /** What was left on the host after the last service had stopped. */
  readonly leftovers: readonly string[];
}

/** The share of kills that come while the service starts and recovers from the last kill. */
const whileStartingShare = 0.2;

export async function randomKills(options: RandomKillsOptions): Promise<RandomKills> {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-crash-'));
  await using witness = await Witness.open();
  const random = seeded(options.seed);
  const workload = new Workload(random, witness);
  const surroundings = { dataDir };
  let killsWhileStarting = 0;
  let startMilliseconds = 0;
  try {
    for (let count = 1; count <= options.kills; count++) {
      await using service = new ServiceProcess(surroundings);
      const spawned = performance.now();
      const isToKillStart = count > 1 && random() < whileStartingShare;
      if (isToKillStart) {
        killsWhileStarting++;
        await Promise.race([service.listening, delay(random() * startMilliseconds)]);
        await service.kill();
      } else {
        const url = await service.listening;
        startMilliseconds = performance.now() - spawned;
        const load = workload.run(url, options);
        await delay(random() * options.millisecondsMax);
        await service.kill();
        await load;
      }
      options.onKill?.(count);
    }
    const lostAnswers = workload.promises.filter(({ job_id }) => job_id === null).length;
    const tornProblems = await problemsOfLostEnd(dataDir);
    tearLogBehindEnd(dataDir);
    const { audit, runs, stopProblems } = await settled(surroundings, workload, witness);
    return {
      ...audit,
      problems: [...tornProblems, ...audit.problems, ...stopProblems],
      kills: options.kills,
      killsWhileStarting,
      lostAnswers,
      cancellations: workload.promises.filter(({ cancellation }) => cancellation === 'promised').length,
      ran: runs.size,
      leftovers: leftoversOf(dataDir),
    };
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

interface Surroundings {
  readonly dataDir: string;
}

/** Runs the last service, without a kill. Every promised job ends there and is audited. */
async function settled({ dataDir }: Surroundings, workload: Workload, witness: Witness) {
  await using service = await ServiceProcess.start({
    dataDir,
    environment: { SERVICE_STORE_CHECK: 'full' },
  });
  await workload.settle(service.url);
  const audit = await auditJobs(service.url, workload.promises);
  const runs = await witness.runs();
  const unproven = await runProblems(service.url, workload.promises, runs);
  const code = await service.stop();
  return { audit, runs, stopProblems: code === 0 ? unproven : [...unproven, `it stopped with exit code ${code}`] };
}
