/**
 * `vouchbox export`: writes everything an auditor needs of one job into one directory that can be checked without the
 * service. It is read from a service with a key, or from the data directory of a stopped one.
 */

import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type ServiceClient, ServiceFailure } from '@vouchbox/client';
import { canonicalJson, parsePublicKey } from '@vouchbox/evidence';
import { CommandFailure } from './command-failure.ts';
import { serverEnvironment } from './environment.ts';
import { EXIT } from './exit-code.ts';
import { type ExportSource, exportFiles } from './export-files.ts';
import { type AccessOptions, namedService } from './service-access.ts';
import { UsageError } from './usage-error.ts';

export interface ExportOptions extends AccessOptions {
  readonly output?: string;
  /** PEM of the key that signed, if the service has replaced it since. */
  readonly publicKey?: string;
  readonly evidenceOnly?: true;
  readonly dataDir?: string;
  readonly databaseUrl?: string;
  readonly tenant?: string;
}

/** How long to wait for the signature of a job that just ended. */
const signatureTries = 30;

/** Writes the directory, whole or not at all, and prints its path. */
export async function exportJob(job_id: string, options: ExportOptions): Promise<number> {
  const target = options.output ?? job_id;
  const source = await readSource(job_id, options);
  const files = exportFiles(source, { program: options.evidenceOnly ? 'left_out' : 'kept' });
  await writeDirectory(target, files);
  process.stdout.write(`${target}\n`);
  return EXIT.ok;
}

async function readSource(job_id: string, options: ExportOptions): Promise<ExportSource> {
  if (options.dataDir !== undefined || options.tenant !== undefined) {
    if (options.url !== undefined)
      throw new UsageError('a job is exported from --url or from --data-dir, not from both');
    return fromDataDir(job_id, options);
  }
  await using service = namedService(options);
  if (service === null) {
    throw new UsageError('name a service with --url and --key, or the data of one that does not run with --data-dir');
  }
  return fromService(job_id, service.client, options);
}

async function fromDataDir(job_id: string, options: ExportOptions): Promise<ExportSource> {
  const { tenant, dataDir, databaseUrl } = options;
  if (tenant === undefined) throw new UsageError('say whose job it is with --tenant');
  const { loadConfig, readStoredJob } = await import('@vouchbox/server/administration');
  const flags = { 'data-dir': dataDir, 'database-url': databaseUrl };
  return readStoredJob({ tenant, job_id }, loadConfig(serverEnvironment(), flags));
}

async function fromService(job_id: string, client: ServiceClient, options: ExportOptions): Promise<ExportSource> {
  const envelope = await signedEnvelope(job_id, client);
  const [result, detail, folded] = [
    await client.resultArtifact(job_id),
    await client.detail(job_id),
    await client.result(job_id),
  ];
  return {
    tenant: detail.tenant,
    job_id,
    envelope,
    result_artifact: result.bytes,
    receipt_json: canonicalJson(detail.receipt),
    events: await Array.fromAsync(client.events(job_id, { limit: 1000 })),
    public_key_pem: await signerOf(detail.attestation.key_id, client, options),
    requested_spec: detail.requested_spec,
    artifacts: folded.artifacts.map(({ path, content_base64 }) => ({
      path,
      content: Buffer.from(content_base64, 'base64'),
    })),
  };
}

/** Signing takes a moment after a job's end. */
async function signedEnvelope(job_id: string, client: ServiceClient): Promise<Uint8Array> {
  for (let tries = 1; ; tries++) {
    try {
      return (await client.attestation(job_id)).bytes;
    } catch (error) {
      const isUnsigned = error instanceof ServiceFailure && error.code === 'attestation_unavailable';
      if (!isUnsigned || tries >= signatureTries) throw error;
      await pause((error.retryAfterSeconds ?? 1) * 1000);
    }
  }
}

/** A service returns only its current key; an older one must be given. */
async function signerOf(key_id: string | null, client: ServiceClient, options: ExportOptions): Promise<string> {
  const given = options.publicKey === undefined ? null : readFileSync(options.publicKey, 'utf8');
  const pem = given ?? (await client.publicKey()).public_key_pem;
  const parsed = parsePublicKey(pem);
  if (parsed.kind === 'key' && parsed.key.key_id === key_id) return pem;
  throw new UsageError(
    given === null
      ? `the job was signed with ${key_id}, which is not the service's key any more; give that one with --public-key`
      : `${options.publicKey} is not the key that signed the job, ${key_id}`,
  );
}

/** It has a temporary name until it is whole. Only what was made here is removed. */
async function writeDirectory(target: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  await makeNew(target);
  const partial = await mkdtemp(`${target}.partial-`);
  try {
    for (const [path, bytes] of files) {
      await mkdir(join(partial, dirname(path)), { recursive: true });
      await writeFile(join(partial, path), bytes, { flag: 'wx' });
    }
    await chmod(partial, (await stat(target)).mode);
    await rename(partial, target);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    // It is empty, unless somebody has written into it since.
    await rmdir(target).catch(() => {});
    throw new CommandFailure(`${target} could not be written: ${(error as Error).message}`, { cause: error });
  }
}

/** A rename can replace an empty directory, but no other. */
async function makeNew(target: string): Promise<void> {
  try {
    await mkdir(target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(
      code === 'EEXIST' ? `${target} exists already; name another with --output` : `${target} cannot be made: ${code}`,
    );
  }
}
