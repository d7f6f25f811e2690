/** The tools for existing jobs: `get_job` and `cancel_job`. */
import type { McpServer } from '@modelcontextprotocol/server';
import type { ServiceClient } from '@vouchbox/client';
import { Closed, Type, waitSecondsMax } from '@vouchbox/protocol';
import { JobAnswer, jobAnswer, readJob } from '../job-answer.ts';
import { addTool } from '../tool.ts';

const GetJob = Closed({
  job_id: Type.String(),
  wait_seconds: Type.Optional(
    Type.Integer({ minimum: 0, maximum: waitSecondsMax, description: 'How long to wait for its end.' }),
  ),
});

const CancelJob = Closed({ job_id: Type.String() });

export function addGetJob(server: McpServer, client: ServiceClient): void {
  addTool(server, 'get_job', {
    title: 'Read a job',
    description:
      'The status or the end of a job of run_code, with its output, its files and the digest of its receipt.',
    input: GetJob,
    output: JobAnswer,
    annotations: { readOnlyHint: true, openWorldHint: false },
    run: async ({ job_id, wait_seconds }, { mcpReq: { signal } }) => {
      if (wait_seconds !== undefined) await client.result(job_id, { waitSeconds: wait_seconds, signal });
      return await jobAnswer(client, await readJob(client, job_id, signal), { signal });
    },
  });
}

export function addCancelJob(server: McpServer, client: ServiceClient): void {
  addTool(server, 'cancel_job', {
    title: 'Cancel a job',
    description: 'Cancels a queued or running job. A job that has ended does not change.',
    input: CancelJob,
    output: JobAnswer,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    run: async ({ job_id }, { mcpReq: { signal } }) => {
      await client.cancel(job_id, { signal });
      return await jobAnswer(client, await readJob(client, job_id, signal), { signal });
    },
  });
}
