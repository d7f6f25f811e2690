/**
 * A gate in a build: the checks for a change run isolated, and the build continues only if a signed result meets a policy.
 * The gate needs only the evidence and a key that was pinned before. It neither asks nor trusts the service.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { client } from './service.ts';

const scratch = mkdtempSync(join(tmpdir(), 'ci-gate-'));
const key = join(scratch, 'pinned.pem');
writeFileSync(key, (await client.publicKey()).public_key_pem); // once, when the service is set up

const { tenant } = await client.whoami();
const check = await client.run('def double(n): return 2 * n\nassert double(21) == 42\nprint("checked")');

const evidence = join(scratch, check.job_id);
execFileSync('vouchbox', ['export', check.job_id, '--output', evidence], { stdio: 'ignore' });

function gate(...demands: string[]): number | null {
  const words = ['directory', evidence, '--public-key', key, '--tenant', tenant];
  const required = demands.flatMap((demand) => ['--require', demand]);
  return spawnSync('service-verify', [...words, ...required], { stdio: 'ignore' }).status;
}

console.log(`isolated, offline and succeeded: exit code ${gate('isolation>=linux-shared-kernel', 'status=succeeded')}`);
console.log(`in hardware, which it was not: exit code ${gate('isolation>=hardware-vm')}`);
rmSync(scratch, { recursive: true });
