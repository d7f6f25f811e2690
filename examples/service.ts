/** The service that the examples call: `SERVICE_URL` and `SERVICE_KEY` name it. */
import { setTimeout } from 'node:timers/promises';
import { createServiceClient } from '@vouchbox/client';

const { SERVICE_URL: baseUrl = 'http://127.0.0.1:8080', SERVICE_KEY: apiKey = 'change-this-key' } = process.env;

export const client = createServiceClient({ baseUrl, apiKey });

/**
 * Aborts `work` once a job runs, and returns how the job ended. `work` calls a framework, and the framework starts the job.
 * An aborted call to `work` fails.
 */
export async function abortedWhileRunning(work: (signal: AbortSignal) => Promise<unknown>): Promise<string> {
  const controller = new AbortController();
  const call = work(controller.signal).catch(() => {});
  let running: string | undefined;
  while (running === undefined) {
    await setTimeout(50);
    running = (await client.list({ status: ['running'], limit: 1 })).items[0]?.job_id;
  }
  controller.abort();
  await call;
  return (await client.result(running, { waitSeconds: 30 })).status;
}
