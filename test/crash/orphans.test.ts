/** A killed service can neither end its programs nor watch their limits, so the kernel must end the programs. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { leftoversOf } from '../rig/leftovers.ts';
import { ServiceProcess } from './service-process.ts';
import { crashClient } from './workload.ts';

/** Long enough that a timeout means a hang and not a busy machine. */
const patient = { timeout: 600_000 };

const processesOf = (dataDir: string) => leftoversOf(dataDir).filter((leftover) => leftover.startsWith('process'));

test.each(['namespace', 'gvisor'])(
  'when a %s service is killed, its program and the program’s cell end before the next service starts',
  { ...patient, tags: ['RST-03'] },
  async (provider) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'svc-orphans-'));
    const options = { dataDir, environment: { SERVICE_PROVIDER: provider } };
    {
      await using service = await ServiceProcess.start(options);
      const client = crashClient(service.url);
      const code = 'echo up; trap "" HUP TERM; sleep 299 & wait; wait';
      const { job_id } = await client.submit({ language: 'bash', code, limits: { wall_seconds: 300 } });
      for await (const { kind } of client.follow(job_id)) if (kind === 'stdout') break;
      expect(processesOf(dataDir).length).toBeGreaterThan(1);
    }
    await expect.poll(() => processesOf(dataDir), { timeout: 120_000 }).toEqual([]);
    await using service = await ServiceProcess.start(options);
    expect(await service.stop()).toBe(0);
    expect(leftoversOf(dataDir)).toEqual([]);
    rmSync(dataDir, { recursive: true });
  },
);
