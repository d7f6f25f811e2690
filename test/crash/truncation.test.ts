/** Spec § Events 6, § Result artifact: truncated output is reported as truncated, even if the service is killed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FoldedResult } from '@vouchbox/protocol';
import { streamRecordsMax } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import { ServiceProcess } from './service-process.ts';
import { crashClient } from './workload.ts';

/** Long enough that a timeout means a hang and not a busy machine. */
const patient = { timeout: 600_000 };

test('a service that was killed after truncating output signs the output as truncated', {
  ...patient,
  tags: ['Result-6', 'Artifact-4a', 'Events-6a'],
}, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-truncation-'));
  try {
    const job_id = await killWhileCut(dataDir);
    await using service = await ServiceProcess.start({ dataDir });
    const client = crashClient(service.url);
    const result = await client.result(job_id);
    expect(result).toMatchObject({ status: 'error', truncated: true });
    expect(result.stdout.split('\n')).toHaveLength(streamRecordsMax + 1);
    await expect.poll(async () => (await client.detail(job_id)).attestation.available, { timeout: 60_000 }).toBe(true);
    const artifact = JSON.parse(new TextDecoder().decode((await client.resultArtifact(job_id)).bytes)) as FoldedResult;
    expect(artifact).toMatchObject({ terminal_reason: 'server_restarted', truncated: true });
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

/**
 * Runs a program that continues after writing more than is recorded. Kills the service as soon as the service reports the
 * truncation.
 */
async function killWhileCut(dataDir: string): Promise<string> {
  await using service = await ServiceProcess.start({ dataDir });
  const client = crashClient(service.url);
  const code = `seq ${2 * streamRecordsMax}; sleep 60`;
  const { job_id } = await client.submit({ language: 'bash', code, limits: { wall_seconds: 60 } });
  for await (const { kind } of client.follow(job_id)) if (kind === 'truncated') break;
  expect(await client.result(job_id)).toMatchObject({ status: 'running', truncated: true });
  await service.kill();
  return job_id;
}
