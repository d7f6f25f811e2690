/** The tools about jobs that exist: `get_job` and `cancel_job`. */
import { fromJsonSchema, type McpServer } from '@modelcontextprotocol/server';
import type { ServiceClient } from '@vouchbox/client';
import { type Static, Type, waitSecondsMax } from '@vouchbox/protocol';
import { JobAnswer, jobAnswer } from '../job-answer.ts';
import { refusing } from '../refusal.ts';

const strict = { additionalProperties: false } as const;

const GetJob = Type.Object(
  {
    job_id: Type.String(),
    wait_seconds: Type.Optional(
      Type.Integer({ minimum: 0, maximum: waitSecondsMax, description: 'How long to wait for its end.' }),
    ),
  },
  strict,
);

const CancelJob = Type.Object({ job_id: Type.String() }, strict);

const outputSchema = fromJsonSchema<JobAnswer>(JobAnswer as never);

export function registerGetJob(server: McpServer, client: ServiceClient): void {
  const about = {
    title: 'Read a job',
    description: 'How a job of run_code stands or ended, with its output, its files and the digest of its receipt.',
    inputSchema: fromJsonSchema<Static<typeof GetJob>>(GetJob as never),
    outputSchema,
    annotations: { readOnlyHint: true, openWorldHint: false },
  };
  server.registerTool('get_job', about, ({ job_id, wait_seconds }, { mcpReq: { signal } }) =>
    refusing(
      (async () => {
        if (wait_seconds !== undefined) await client.result(job_id, { waitSeconds: wait_seconds, signal });
        return await jobAnswer(client, job_id, { signal });
      })(),
    ),
  );
}

export function registerCancelJob(server: McpServer, client: ServiceClient): void {
  const about = {
    title: 'Cancel a job',
    description: 'Asks a queued or running job to end. A job that has ended stays as it is.',
    inputSchema: fromJsonSchema<Static<typeof CancelJob>>(CancelJob as never),
    outputSchema,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  };
  server.registerTool('cancel_job', about, ({ job_id }, { mcpReq: { signal } }) =>
    refusing(
      (async () => {
        await client.cancel(job_id, { signal });
        return await jobAnswer(client, job_id, { signal });
      })(),
    ),
  );
}
