/** The contract's requests as plain HTTP without a client, as a program in any language can send them. */
import { createHash } from 'node:crypto';
import type {
  FoldedResult,
  GradingDetail,
  JobDetail,
  JobList,
  JobSubmission,
  ServiceStatus,
  ToolCalls,
} from '@vouchbox/protocol';
import { type Caller, playCaller } from '../caller.ts';
import type { Crossing } from '../crossing.ts';
import { factsOf, OF_EVERY_JOB, type Seen, textOf } from '../facts.ts';
import { idOf } from '../links.ts';
import { type Place, withoutOpening } from '../place.ts';
import { counted } from '../readings.ts';
import { gradingWords, verdictsOf } from './grade-by-client.ts';
import { READ_BY_THE_COMMAND } from './grade-package.ts';

interface Request {
  readonly method?: 'POST' | 'PUT' | 'DELETE';
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

async function answerTo({ service, key }: Crossing, path: string, { headers, ...request }: Request = {}) {
  const answer = await fetch(service.url + path, {
    ...request,
    headers: { authorization: `Bearer ${key}`, ...headers },
  });
  if (!answer.ok) throw new Error(`HTTP ${answer.status}: ${await answer.text()}`);
  return answer;
}

async function ask<Answer>(crossing: Crossing, path: string, request?: Request): Promise<Answer> {
  return (await (await answerTo(crossing, path, request)).json()) as Answer;
}

const JSON_BODY = { 'content-type': 'application/json' };

/** Uploads the files that a submission names by digest, and returns the submission. */
async function uploaded(crossing: Crossing): Promise<JobSubmission> {
  const { uploads = {} } = crossing.scenario.program;
  const outputs = Object.entries(await crossing.outputsOfJobs());
  const files: NonNullable<JobSubmission['files']> = outputs.map(([path, { from }]) => ({ path, from }));
  for (const [path, content] of Object.entries(uploads)) {
    const digest = createHash('sha256').update(content).digest('hex');
    const headers = { 'content-type': 'application/octet-stream' };
    await ask(crossing, `/v1/blobs/sha256/${digest}`, { method: 'PUT', body: new Uint8Array(content), headers });
    files.push({ path, blob: `sha256:${digest}` });
  }
  return { ...(await crossing.submission()), ...(files.length > 0 && { files }) };
}

async function read(crossing: Crossing, job_id: string): Promise<Seen> {
  const result = await ask<FoldedResult>(crossing, `/v1/jobs/${job_id}/result?wait_seconds=120`);
  const detail = await ask<JobDetail>(crossing, `/v1/jobs/${job_id}`);
  const { files, ...seen } = factsOf(detail, result);
  const large: Record<string, string> = {};
  for (const { path, sha256 } of result.large_outputs ?? []) {
    const bytes = await (await answerTo(crossing, `/v1/blobs/sha256/${sha256}`)).arrayBuffer();
    large[path] = textOf(new Uint8Array(bytes));
  }
  const { peer } = detail.requested_spec.interaction ?? {};
  const told = peer && (await ask<FoldedResult>(crossing, `/v1/jobs/${peer}/result?wait_seconds=120`));
  return { ...seen, files: { ...files, ...large }, ...(told && { peer: told.stdout }) };
}

/** Answers the program's tool calls until the program has ended. */
async function answered(crossing: Crossing, job_id: string): Promise<void> {
  const { answers } = crossing.scenario;
  if (answers === undefined) return;
  for (let after: number | null = 0; after !== null; ) {
    const path = `/v1/jobs/${job_id}/tool-calls`;
    const { calls, next_cursor }: ToolCalls = await ask(crossing, `${path}?after=${after}&wait_seconds=60`);
    for (const { seq, tool, arguments: given } of calls) {
      const body = JSON.stringify({ result: (answers[tool] as (given: unknown) => unknown)(given) });
      await ask(crossing, `${path}/${seq}`, { method: 'POST', body, headers: JSON_BODY });
    }
    after = next_cursor;
  }
}

const caller: Caller = {
  run: async (crossing, idempotencyKey) => {
    const headers = {
      ...JSON_BODY,
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    };
    const body = JSON.stringify(await uploaded(crossing));
    const { job_id } = await ask<{ job_id: string }>(crossing, '/v1/jobs', { method: 'POST', body, headers });
    await answered(crossing, job_id);
    return await read(crossing, job_id);
  },
  read,
  cancel: async (crossing, job_id) => {
    await ask(crossing, `/v1/jobs/${job_id}`, { method: 'DELETE' });
  },
  grade: async (crossing) => {
    const { program, tests, interactor } = crossing.scenario;
    const judged = interactor && { verdict: 'urn:svc:verdict:v2', interactor };
    const body = JSON.stringify({ programs: [program], tests, ...judged });
    const request = { method: 'POST', body, headers: JSON_BODY } as const;
    const { grading_url } = await ask<{ grading_url: string }>(crossing, '/v1/gradings', request);
    const ended = await ask<GradingDetail>(crossing, `${grading_url}?wait_seconds=120`);
    const verdicts = verdictsOf(await read(crossing, ended.graded[0]?.verdict?.job_id ?? ''));
    return { ...verdicts, grading: gradingWords(ended) };
  },
  readings: {
    listed: async (crossing, job_id) => {
      const { items } = await ask<JobList>(crossing, '/v1/jobs?limit=200');
      return items.find((job) => job.job_id === job_id)?.first_line ?? '';
    },
    counted: async (crossing) =>
      await counted(crossing, async () => [await ask<ServiceStatus>(crossing, '/v1/status')]),
  },
  links: {
    make: async (crossing, job_id) => {
      const request = { method: 'POST', body: '{}', headers: JSON_BODY } as const;
      const { link_url } = await ask<{ link_url: string }>(crossing, `/v1/jobs/${job_id}/links`, request);
      return crossing.service.url + link_url;
    },
    revoke: async (crossing, job_id, address) => {
      await ask(crossing, `/v1/jobs/${job_id}/links/${idOf(address)}`, { method: 'DELETE' });
    },
  },
};

export const http: Place = {
  title: 'HTTP',
  group: 'callers',
  service: 'usual',
  shows: OF_EVERY_JOB,
  except: { packaged: READ_BY_THE_COMMAND },
  open: withoutOpening({ play: async (crossing) => await playCaller(caller, crossing) }),
};
