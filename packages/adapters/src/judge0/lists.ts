/** The answers about Judge0 itself: its languages, its statuses and its configuration. */
import type { Capabilities } from '@vouchbox/protocol';
import type { FastifyInstance } from 'fastify';
import type { AdapterParts } from '../adapter.ts';
import { AdapterError } from '../adapter-error.ts';
import { judge0Language, languageOfNumber } from './languages.ts';
import { STATUSES, type StatusNumber, statusNumbered } from './statuses.ts';

/** The most submissions in a batch. */
export const batchMax = 20;

export function addLists(app: FastifyInstance, { languages }: AdapterParts): void {
  app.get('/languages', async () => (await languages.offered()).map(judge0Language));
  app.get('/languages/all', async () =>
    (await languages.offered()).map((language) => ({ ...judge0Language(language), is_archived: false })),
  );
  app.get<{ Params: { id: string } }>('/languages/:id', async ({ params }) => {
    const language = languageOfNumber(Number(params.id), await languages.offered());
    if (language === undefined) throw new AdapterError(404, 'there is no such language here');
    return { ...judge0Language(language), id: Number(params.id), is_archived: false };
  });
  app.get('/statuses', async () =>
    Object.keys(STATUSES).map((number) => statusNumbered(Number(number) as StatusNumber)),
  );
  app.get('/about', async () => ({
    version: (await languages.capabilities()).version,
    homepage: null,
    source_code: null,
  }));
  app.get('/version', async (_request, reply) =>
    reply.type('text/plain').send((await languages.capabilities()).version),
  );
  app.get('/config_info', async () => configInfo(await languages.capabilities()));
}

/** The limits and switches under Judge0's names. A refused switch is off, and a member without a counterpart is left out. */
function configInfo({ features, limits: { defaults, ceilings } }: Capabilities) {
  return {
    maintenance_mode: false,
    enable_wait_result: true,
    enable_compiler_options: features.includes('builds'),
    // An empty list stands for all languages with a compiler.
    allowed_languages_for_compile_options: [],
    enable_command_line_arguments: true,
    enable_submission_delete: false,
    enable_callbacks: false,
    enable_additional_files: false,
    cpu_time_limit: defaults.cpu_seconds,
    max_cpu_time_limit: ceilings.cpu_seconds,
    wall_time_limit: defaults.wall_seconds,
    max_wall_time_limit: ceilings.wall_seconds,
    memory_limit: defaults.mem_mb * 1024,
    max_memory_limit: ceilings.mem_mb * 1024,
    max_processes_and_or_threads: defaults.max_pids,
    max_max_processes_and_or_threads: ceilings.max_pids,
    enable_per_process_and_thread_time_limit: false,
    allow_enable_per_process_and_thread_time_limit: false,
    enable_per_process_and_thread_memory_limit: false,
    allow_enable_per_process_and_thread_memory_limit: false,
    max_file_size: defaults.max_file_mb * 1024,
    max_max_file_size: ceilings.max_file_mb * 1024,
    number_of_runs: 1,
    max_number_of_runs: 1,
    redirect_stderr_to_stdout: false,
    enable_batched_submissions: true,
    max_submission_batch_size: batchMax,
    allow_enable_network: false,
    enable_network: false,
    disable_implicit_base64_encoding: true,
  };
}
