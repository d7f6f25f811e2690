/**
 * `vouchbox export`: writes everything that an auditor needs to know about one job into a directory that can be checked
 * without the service. The job is read from a service, with a key, or from a stopped service's data directory.
 */
import { readFileSync } from 'node:fs';
import { ServiceFailure, TransportFailure } from '@vouchbox/client';
import { EXPORT_FILES_READ_WHOLE } from '@vouchbox/evidence';
import { type ReadJob, type WrittenGraph, type WrittenJob, writeGraph } from './export-graph.ts';
import { WrongAnswer } from './failures/command-failure.ts';
import { EXIT, EXPORT_EXIT } from './failures/exit-code.ts';
import { isOperatorError, tellFailure } from './failures/tell-failure.ts';
import { UsageError } from './failures/usage-error.ts';
import { type ExportOrigin, writeExport } from './files/export-origin.ts';
import { type NewDirectory, writeDirectory } from './files/new-directory.ts';
import { writeNew } from './files/new-file.ts';
import { serverEnvironment } from './service/environment.ts';
import { type AccessOptions, namedService } from './service/service-access.ts';
import { readFromService } from './service-export.ts';
import { takeInterrupts, unlessInterrupted } from './terminal/interrupts.ts';
import { type JsonOption, note, printResult } from './terminal/print.ts';
import { shellWord } from './terminal/shell-word.ts';

export interface ExportOptions extends AccessOptions, JsonOption {
  readonly output?: string;
  /** PEM files with the public key that signed the job, if the service has a newer key now; for a graph, every such key. */
  readonly publicKey?: readonly string[];
  readonly evidenceOnly?: true;
  /** Also exports every job that the job depends on. */
  readonly withInputs?: true;
  /** A new file for the log's proof. It lies beside the directory, since older verifiers refuse unknown files in a directory. */
  readonly logProof?: string;
  /** A new file for the job's promise. Like the log's proof, it lies beside the directory. */
  readonly promise?: string;
  /** A new file for the envelope of the canary that the job names. Like the log's proof, it lies beside the directory. */
  readonly canary?: string;
  readonly dataDir?: string;
  readonly databaseUrl?: string;
  readonly tenant?: string;
}

/** Writes the directory, whole or not at all, and prints the directory's path. The exit code says which side failed. */
export async function exportJob(job_id: string, options: ExportOptions): Promise<number> {
  using interrupts = takeInterrupts();
  try {
    const exported = await unlessInterrupted(interrupts.asked, (signal) => writeJobExport(job_id, options, signal));
    if (exported !== null) return tell(job_id, exported, options);
    note('interrupted: nothing was exported');
    return EXIT.cancelled;
  } catch (error) {
    return tellFailure(error, exitCodeOf(error));
  }
}

/** The exit code for a failure that is not wrong usage. The code says which side failed. */
function exitCodeOf(error: unknown): number {
  if (error instanceof ServiceFailure || isOperatorError(error)) return EXPORT_EXIT.refused;
  if (error instanceof WrongAnswer) return EXPORT_EXIT.wrongAnswer;
  if (!(error instanceof TransportFailure)) return EXPORT_EXIT.failed;
  const isLost = ['network', 'timeout', 'truncated'].includes(error.reason);
  return isLost ? EXPORT_EXIT.unanswered : EXPORT_EXIT.wrongAnswer;
}

interface Written {
  readonly target: string;
  readonly tenant: string;
  /** Input files that the service no longer keeps: those of the job, or of all jobs in a graph. */
  readonly missing: readonly string[];
  /** Null if only the job was exported. */
  readonly graph: WrittenGraph | null;
}

/** The files that are written beside the directory of a single job. */
const FILES_OF_ONE = [
  ['--log-proof', 'logProof'],
  ['--promise', 'promise'],
  ['--canary', 'canary'],
] as const;

/** Writes the directory, whole or not at all, and prints nothing. */
export function writeJobExport(job_id: string, options: ExportOptions, signal: AbortSignal): Promise<Written> {
  const target = options.output ?? job_id;
  checkSource(options);
  const ofOne = FILES_OF_ONE.find(([, file]) => options[file] !== undefined);
  if (options.withInputs && ofOne !== undefined)
    throw new UsageError(`${ofOne[0]} belongs to one job: export each job of the graph by itself`);
  const reading = { ...options, signal };
  if (options.withInputs)
    return writeDirectory(target, (directory) => writtenGraph(directory, target, job_id, reading));
  return writeDirectory(target, (directory) =>
    withOrigin(job_id, reading, async (origin) => {
      const choice = { program: options.evidenceOnly ? 'left_out' : 'kept' } as const;
      for (const [flag, file] of FILES_OF_ONE) {
        const path = options[file];
        if (path !== undefined) writeNew(path, await origin[file](), flag);
      }
      const { missing } = await writeExport(directory, origin, choice);
      return { target, tenant: origin.source.tenant, missing, graph: null };
    }),
  );
}

async function writtenGraph(
  directory: NewDirectory,
  target: string,
  job_id: string,
  options: Reading,
): Promise<Written> {
  const read: ReadJob = (id, use) =>
    withOrigin(id, options, use).catch((error: unknown) => {
      if (id !== job_id && isGone(error)) return null;
      throw error;
    });
  const graph = await writeGraph(directory, job_id, { read, evidenceOnly: options.evidenceOnly === true });
  const missing = graph.jobs.flatMap((job) => job.missing.map((path) => `${job.job_id}/${path}`));
  return { target, tenant: graph.tenant, missing, graph };
}

function isGone(error: unknown): boolean {
  return (
    (error instanceof ServiceFailure && error.code === 'job_not_found') ||
    (isOperatorError(error) && error.message.startsWith('no job '))
  );
}

function tell(job_id: string, { target, tenant, missing, graph }: Written, options: ExportOptions): number {
  const ofGraph = graph && { jobs: graph.jobs, gone: graph.gone };
  printResult(options, `${target}\n`, { directory: target, job_id, tenant, missing, ...ofGraph });
  for (const path of missing) note(`${path} is missing: the service has not kept the file. The receipt has its digest`);
  for (const id of graph?.gone ?? []) note(`${id} is missing: the service has not kept the job`);
  if (options.json) return EXIT.ok;
  if (graph !== null) tellDisclosed(graph.jobs);
  const command = `${graph === null ? 'directory' : 'graph'} ${shellWord(target)}`;
  const log = options.logProof === undefined ? '' : ` --log-key LOG.key --log-proof ${shellWord(options.logProof)}`;
  const canary = options.canary === undefined ? '' : ` --canary ${shellWord(options.canary)}`;
  note('anyone can check this export without the service, with a public key that came another way:');
  note(`npx --no service-verify ${command} --public-key PINNED.pem --tenant ${shellWord(tenant)}${log}${canary}`);
  return EXIT.ok;
}

/** Names every job in the graph, because whoever passes the graph on discloses all of these jobs. */
function tellDisclosed(jobs: readonly WrittenJob[]): void {
  note(`it discloses ${jobs.length} ${jobs.length === 1 ? 'job' : 'jobs'}, their output and events among them:`);
  for (const { job_id, files } of jobs) {
    const program = files.filter((file) => !EXPORT_FILES_READ_WHOLE.has(file));
    note(`  ${job_id}: ${program.length === 0 ? 'evidence only' : program.join(', ')}`);
  }
}

/** Checks the options before any file is made: a job is read either from a service or from a data directory. */
function checkSource({ url, dataDir, tenant }: ExportOptions): void {
  if (dataDir === undefined && tenant === undefined) return;
  if (url !== undefined) throw new UsageError('a job is exported from --url or from --data-dir, not from both');
  if (tenant === undefined) {
    const listed = `vouchbox keys list --data-dir ${shellWord(dataDir ?? '')}`;
    throw new UsageError(
      `say whose job it is with --tenant; \`${listed}\` shows the tenants, except those of SERVICE_LEGACY_KEYS`,
    );
  }
}

interface Reading extends ExportOptions {
  readonly signal: AbortSignal;
}

async function withOrigin<Result>(
  job_id: string,
  options: Reading,
  use: (origin: ExportOrigin) => Promise<Result>,
): Promise<Result> {
  if (options.tenant !== undefined) return fromDataDir(job_id, options.tenant, options, use);
  await using service = namedService(options);
  if (service === null) {
    throw new UsageError(
      'name a service with --url and --key or a profile, or the data of a stopped service with --data-dir',
    );
  }
  const { publicKey = [], withInputs, signal } = options;
  const given = publicKey.map((file) => readFileSync(file, 'utf8'));
  const isMixed = withInputs && given.length > 0;
  const publicKeys = isMixed ? [...given, (await service.client.publicKey()).public_key_pem] : given;
  return await use(await readFromService(job_id, service.client, { publicKeys, signal }));
}

async function fromDataDir<Result>(
  job_id: string,
  tenant: string,
  { dataDir, databaseUrl, signal }: Reading,
  use: (origin: ExportOrigin) => Promise<Result>,
): Promise<Result> {
  const { loadConfig, withStoredJob } = await import('@vouchbox/server/administration');
  const flags = { 'data-dir': dataDir, 'database-url': databaseUrl };
  return withStoredJob({ tenant, job_id }, loadConfig(serverEnvironment(), flags), ({ job, blob, ...beside }) =>
    use({
      source: job,
      ...beside,
      readBlob: async (name, read) => {
        const pieces = await blob(name);
        return pieces === null ? null : await read(untilAborted(pieces, signal));
      },
    }),
  );
}

async function* untilAborted<Piece>(pieces: AsyncIterable<Piece>, signal: AbortSignal): AsyncGenerator<Piece, void> {
  for await (const piece of pieces) {
    signal.throwIfAborted();
    yield piece;
  }
}
