import { expect, test } from 'vitest';
import { postgresCommands } from '../rig/postgres-server.ts';
import { runFleet } from './fleet-run.ts';

/** Long enough that a timeout means a hang, and not a busy machine. */
const patient = { timeout: 600_000 };

// Two of the failures of `npm run fleet`.
test.runIf(postgresCommands() !== null)(
  'when one of two nodes is killed and the disk of one is full, every promise of both is kept',
  patient,
  async () => {
    const run = await runFleet({
      nodes: 2,
      seed: 20261122,
      failures: ['kill', "fill a node's disk"],
      milliseconds: 0,
      jobsMax: 24,
      clients: 4,
    });
    expect(run.problems).toEqual([]);
    expect(run.leftovers).toEqual([]);
    expect(run.attested).toBe(run.jobs);
  },
);
