/**
 * Kills the service at random moments under load, starts it again each time, and then audits every promise it made. The
 * moments come from a seed, so that a run can be repeated.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { leftoversOf } from '../rig/leftovers.ts';
import { type Audit, auditJobs } from './audit.ts';
import { ServiceProcess } from './service-process.ts';
import { seeded, Workload } from './workload.ts';

export interface RandomKillsOptions {
  readonly kills: number;
  readonly seed: number;
  readonly clients: number;
  /** Jobs that each client submits in one life of the service. */
  readonly jobsEach: number;
  /** The longest that a service may work before it is killed. */
  readonly millisecondsMax: number;
  /** Told after each kill. */
  readonly onKill?: (count: number) => void;
}

export interface RandomKills extends Audit {
  readonly kills: number;
  /** Answers that were lost with the service that owed them. */
  readonly lostAnswers: number;
  /** What was left on the host when the last service had stopped. */
  readonly leftovers: readonly string[];
}

export async function randomKills(options: RandomKillsOptions): Promise<RandomKills> {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-crash-'));
  const random = seeded(options.seed);
  const workload = new Workload(random);
  try {
    for (let count = 1; count <= options.kills; count++) {
      await using service = await ServiceProcess.start({ dataDir });
      const load = workload.run(service.url, options);
      await delay(random() * options.millisecondsMax);
      await service.kill();
      await load;
      options.onKill?.(count);
    }
    const lostAnswers = workload.promises.filter(({ job_id }) => job_id === null).length;
    await using service = await ServiceProcess.start({ dataDir });
    await workload.settle(service.url);
    const audit = await auditJobs(service.url, workload.promises);
    const code = await service.stop();
    const problems = code === 0 ? audit.problems : [...audit.problems, `the service stopped with exit code ${code}`];
    return { ...audit, problems, kills: options.kills, lostAnswers, leftovers: leftoversOf(dataDir) };
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}
