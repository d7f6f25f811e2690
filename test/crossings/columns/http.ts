/** HTTP alone, as any language can speak it: requests of the contract without a client. */
import { createHash } from 'node:crypto';
import type { FoldedResult, JobDetail, JobSubmission } from '@vouchbox/protocol';
import { type Caller, playCaller } from '../caller.ts';
import type { Crossing } from '../crossing.ts';
import { factsOf, OF_EVERY_JOB, type Seen } from '../facts.ts';
import { type Place, withoutOpening } from '../place.ts';
import { gradeByClient, verdictsOf } from './grade-by-client.ts';

interface Request {
  readonly method?: 'POST' | 'PUT' | 'DELETE';
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask<Answer>({ service, key }: Crossing, path: string, { headers, ...request }: Request = {}) {
  const answer = await fetch(service.url + path, {
    ...request,
    headers: { authorization: `Bearer ${key}`, ...headers },
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`HTTP ${answer.status}: ${text}`);
  return JSON.parse(text) as Answer;
}

/** Sends the files that a submission only names. */
async function uploaded(crossing: Crossing): Promise<JobSubmission> {
  const { uploads = {}, fromJobs: _, ...program } = crossing.scenario.program;
  const outputs = Object.entries(await crossing.outputsOfJobs());
  const files: NonNullable<JobSubmission['files']> = outputs.map(([path, { from }]) => ({ path, from }));
  for (const [path, content] of Object.entries(uploads)) {
    const digest = createHash('sha256').update(content).digest('hex');
    const headers = { 'content-type': 'application/octet-stream' };
    await ask(crossing, `/v1/blobs/sha256/${digest}`, { method: 'PUT', body: new Uint8Array(content), headers });
    files.push({ path, blob: `sha256:${digest}` });
  }
  return { ...program, ...(files.length > 0 && { files }) };
}

async function read(crossing: Crossing, job_id: string): Promise<Seen> {
  const result = await ask<FoldedResult>(crossing, `/v1/jobs/${job_id}/result?wait_seconds=120`);
  return factsOf(await ask<JobDetail>(crossing, `/v1/jobs/${job_id}`), result);
}

const caller: Caller = {
  run: async (crossing, idempotencyKey) => {
    const headers = {
      'content-type': 'application/json',
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    };
    const body = JSON.stringify(await uploaded(crossing));
    const { job_id } = await ask<{ job_id: string }>(crossing, '/v1/jobs', { method: 'POST', body, headers });
    return await read(crossing, job_id);
  },
  read,
  cancel: async (crossing, job_id) => {
    await ask(crossing, `/v1/jobs/${job_id}`, { method: 'DELETE' });
  },
  // A client makes the gradings; the jobs that it made are read here.
  grade: async (crossing) => verdictsOf(await read(crossing, await gradeByClient(crossing))),
};

export const http: Place = {
  title: 'HTTP',
  group: 'callers',
  service: 'usual',
  shows: OF_EVERY_JOB,
  except: {},
  open: withoutOpening({ play: async (crossing) => await playCaller(caller, crossing) }),
};
