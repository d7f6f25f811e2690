/**
 * `vouchbox export`: writes everything an auditor needs of one job into one directory that can be checked without the
 * service. It is read from a service with a key, or from the data directory of a stopped one.
 */
import { readFileSync } from 'node:fs';
import { EXIT } from './failures/exit-code.ts';
import { UsageError } from './failures/usage-error.ts';
import { type ExportSource, exportFiles } from './files/export-files.ts';
import { writeDirectory } from './files/new-directory.ts';
import { serverEnvironment } from './service/environment.ts';
import { type AccessOptions, namedService } from './service/service-access.ts';
import { readFromService } from './service-export.ts';
import { type JsonOption, note, printResult } from './terminal/print.ts';
import { shellWord } from './terminal/shell-word.ts';

export interface ExportOptions extends AccessOptions, JsonOption {
  readonly output?: string;
  /** PEM of the key that signed, if the service has replaced it since. */
  readonly publicKey?: string;
  readonly evidenceOnly?: true;
  readonly dataDir?: string;
  readonly databaseUrl?: string;
  readonly tenant?: string;
}

/** Writes the directory, whole or not at all, and prints its path. */
export async function exportJob(job_id: string, options: ExportOptions): Promise<number> {
  const target = options.output ?? job_id;
  const source = await readSource(job_id, options);
  const files = exportFiles(source, { program: options.evidenceOnly ? 'left_out' : 'kept' });
  await writeDirectory(target, files);
  printResult(options, `${target}\n`, { directory: target, job_id, tenant: source.tenant });
  if (!options.json) {
    note('it can be checked without the service, with a key that came another way:');
    note(
      `npx --no service-verify directory ${shellWord(target)} --public-key PINNED.pem --tenant ${shellWord(source.tenant)}`,
    );
  }
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
    throw new UsageError(
      'name a service with --url and --key or a profile, or the data of one that does not run with --data-dir',
    );
  }
  const { publicKey } = options;
  const publicKeyPem = publicKey === undefined ? null : readFileSync(publicKey, 'utf8');
  return readFromService(job_id, service.client, { publicKeyPem });
}

async function fromDataDir(job_id: string, options: ExportOptions): Promise<ExportSource> {
  const { tenant, dataDir, databaseUrl } = options;
  if (tenant === undefined) throw new UsageError('say whose job it is with --tenant');
  const { loadConfig, readStoredJob } = await import('@vouchbox/server/administration');
  const flags = { 'data-dir': dataDir, 'database-url': databaseUrl };
  return readStoredJob({ tenant, job_id }, loadConfig(serverEnvironment(), flags));
}
