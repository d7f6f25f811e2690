/** `vouchbox export --with-inputs`: a job and all jobs that it depends on, for `service-verify graph`. */
import { GRAPH_FILE, graphDepthMax, graphFile, graphJobsMax, isDirectoryOfJob } from '@vouchbox/evidence';
import { inputsOf, type StoredSpec } from '@vouchbox/protocol';
import { CommandFailure, WrongAnswer } from './failures/command-failure.ts';
import { type ExportOrigin, writeExport } from './files/export-origin.ts';
import type { NewDirectory } from './files/new-directory.ts';

/** Gives a job to `use`, and removes the job's data when `use` has ended. Returns null if the job is no longer kept. */
export type ReadJob = <Result>(
  job_id: string,
  use: (origin: ExportOrigin) => Promise<Result>,
) => Promise<Result | null>;

export interface WrittenJob {
  readonly job_id: string;
  /** Every file of the job in the directory. */
  readonly files: readonly string[];
  /** Input files that are no longer stored. */
  readonly missing: readonly string[];
}

export interface WrittenGraph {
  readonly tenant: string;
  readonly jobs: readonly WrittenJob[];
  /** Jobs that are no longer kept. */
  readonly gone: readonly string[];
}

/** Exports the job, then the jobs that it depends on, then the jobs that those depend on, and so on. Writes `GRAPH_FILE` last. */
export async function writeGraph(
  directory: NewDirectory,
  job_id: string,
  { read, evidenceOnly }: { readonly read: ReadJob; readonly evidenceOnly: boolean },
): Promise<WrittenGraph> {
  const program = evidenceOnly ? 'left_out' : 'kept';
  const seen = new Set([job_id]);
  const jobs: WrittenJob[] = [];
  const gone: string[] = [];
  let tenant: string | null = null;
  let level = [job_id];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > graphDepthMax)
      throw new CommandFailure(`${job_id} depends on a job through a chain of more than ${graphDepthMax} jobs`);
    const next: string[] = [];
    for (const id of level) {
      if (!isDirectoryOfJob(id)) throw new WrongAnswer(`the service names a job ${id}, which is not a valid job id`);
      const written = await read(id, async (origin) => {
        const { missing, files } = await writeExport(directory, origin, { program, policy: 'kept', prefix: `${id}/` });
        jobs.push({ job_id: id, files, missing });
        for (const other of namedIn(origin.source.requested_spec)) {
          if (!seen.has(other)) next.push(other);
          seen.add(other);
        }
        return origin.source.tenant;
      });
      if (written === null) gone.push(id);
      tenant ??= written;
    }
    if (seen.size > graphJobsMax) throw new CommandFailure(`${job_id} depends on more than ${graphJobsMax} jobs`);
    level = next;
  }
  if (tenant === null) throw new CommandFailure(`there is no job ${job_id}`);
  await directory.write(GRAPH_FILE, graphFile({ tenant, job_id, missing: gone }));
  return { tenant, jobs, gone };
}

/** The jobs whose outputs were this job's input files, and the job that its program talked to. */
function namedIn({ interaction, ...spec }: StoredSpec): readonly string[] {
  const makers = inputsOf(spec).flatMap((file) => ('from' in file ? [file.from.job_id] : []));
  return interaction === undefined ? makers : [...makers, interaction.peer];
}
