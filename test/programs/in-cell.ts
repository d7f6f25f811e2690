/** Runs programs as jobs of a real service, over HTTP, in one isolation class. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServiceClient } from '@vouchbox/client';
import { loadConfig, startService } from '@vouchbox/server';
import type { Run, TriedProgram } from './program.ts';

export const CLASSES = ['namespace', 'gvisor'] as const;
export type ClassName = (typeof CLASSES)[number];

/** Runs programs as jobs of one service. Disposing the runner stops the service. */
export interface CellRunner extends AsyncDisposable {
  run(program: TriedProgram): Promise<Run>;
}

/** How many programs run at once, bare or in cells: as many as the smallest host has processors. */
export const AT_ONCE = 2;

export async function openCellRunner(provider: ClassName): Promise<CellRunner> {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-programs-'));
  const flags = {
    'data-dir': dataDir,
    host: '127.0.0.1',
    port: '0',
    provider,
    // Half of the programs start and call a server.
    loopback: 'on',
    'legacy-keys': 'programs=key-of-programs',
    concurrency: String(AT_ONCE),
    'rate-per-second': '1000',
    'rate-burst': '1000',
    'free-space-reserve-mb': '0',
    'attestation-mode': 'off',
    'log-level': 'silent',
  };
  const service = await startService(loadConfig({}, flags));
  const client = createServiceClient({ baseUrl: service.url, apiKey: 'key-of-programs' });
  return {
    async run({ language, code, limits }) {
      const { job_id } = await client.submit({ language, code, limits });
      const { stdout, stderr, status, exit_code, duration_ms } = await client.waitForResult(job_id);
      const { signal, receipt } = await client.detail(job_id);
      const ended = exit_code === null ? (signal ?? status) : `exit ${exit_code}`;
      const identity = receipt?.runtime_identity;
      const runtime = identity === undefined ? null : `${identity.name} ${identity.version}`;
      return { ended, stdout, stderr, seconds: (duration_ms ?? 0) / 1000, runtime };
    },
    async [Symbol.asyncDispose]() {
      await service.stop();
      rmSync(dataDir, { recursive: true });
    },
  };
}
