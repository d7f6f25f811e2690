/** The TypeScript client runs, reads and cancels jobs. Places that have no calls of their own also use these functions. */
import type { NamedContent, RunOptions, ServiceClient } from '@vouchbox/client';
import type { FoldedResult } from '@vouchbox/protocol';
import { type Caller, playCaller } from '../caller.ts';
import type { Crossing } from '../crossing.ts';
import { factsOf, OF_EVERY_JOB, type Seen, textOf, typesOf } from '../facts.ts';
import { type Place, withoutOpening } from '../place.ts';
import { gradingOf, verdictsIn } from './grade-by-client.ts';
import { READ_BY_THE_COMMAND } from './grade-package.ts';

/** Uploads a scenario's files, and returns the options with which the client runs it. */
async function optionsOf(crossing: Crossing): Promise<RunOptions> {
  const { client, scenario } = crossing;
  const { uploads = {}, outputs = [] } = scenario.program;
  const files: Record<string, NamedContent> = await crossing.outputsOfJobs();
  for (const [path, content] of Object.entries(uploads)) {
    files[path] = { blob: (await client.upload(new Uint8Array(content))).blob };
  }
  return { outputs, ...(Object.keys(files).length > 0 && { files }) };
}

/** Submits the program and returns the id of its job. */
export async function submitByClient(crossing: Crossing, idempotencyKey?: string): Promise<string> {
  const program = await crossing.submission();
  const { job_id } = await crossing.client.submit(program, { ...(await optionsOf(crossing)), idempotencyKey });
  await crossing.answered(job_id);
  return job_id;
}

/** Reads an ended job at the node where this service's jobs are read. */
export async function readByClient({ otherClient }: Crossing, job_id: string): Promise<Seen> {
  const result = await otherClient.waitForResult(job_id);
  const seen = factsOf(await otherClient.detail(job_id), result);
  const files = { ...seen.files, ...(await largeFiles(otherClient, result)) };
  return { ...seen, files, ...(await peerOf(otherClient, job_id)) };
}

/** Fetches a job's large outputs by their digests. */
async function largeFiles(
  client: ServiceClient,
  { large_outputs = [] }: Pick<FoldedResult, 'large_outputs'>,
): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const { path, sha256 } of large_outputs) files[path] = textOf((await client.download(`sha256:${sha256}`)).bytes);
  return files;
}

/** The output of the other program in a pair. */
async function peerOf(client: ServiceClient, job_id: string): Promise<Pick<Seen, 'peer'>> {
  const { interaction } = (await client.detail(job_id)).requested_spec;
  return interaction === undefined ? {} : { peer: (await client.waitForResult(interaction.peer)).stdout };
}

export async function cancelByClient({ otherClient }: Crossing, job_id: string): Promise<void> {
  await otherClient.cancel(job_id);
}

/** Runs the program again with the tool answers recorded in the first run. The second run must do the same. */
async function replayed({ client, scenario: { program } }: Crossing, job_id: string) {
  const { language, code, limits = {}, outputs = [] } = program;
  const replay = await Array.fromAsync(client.events(job_id));
  return await client.run({ language, code, limits, outputs }, { replay });
}

const caller: Caller = {
  run: async (crossing, idempotencyKey) => {
    const program = await crossing.submission();
    const { answers: tools } = crossing.scenario;
    const options = { ...(await optionsOf(crossing)), idempotencyKey, ...(tools && { tools }) };
    const session = program.session && (await crossing.client.session(program.session.name));
    const ran = await (session ?? crossing.client).run(program, options);
    const { files, violations, ...seen } = tools === undefined ? ran : await replayed(crossing, ran.job_id);
    const small = Object.fromEntries([...files].map(([path, bytes]) => [path, textOf(bytes)]));
    return {
      ...(seen as Seen),
      violations: typesOf(violations),
      files: { ...small, ...(await largeFiles(crossing.client, seen)) },
      ...(await peerOf(crossing.client, seen.job_id)),
    };
  },
  read: readByClient,
  cancel: cancelByClient,
  grade: async (crossing) => {
    const { program, tests = [], interactor } = crossing.scenario;
    const { bytes } = await crossing.client.grade(program, { tests, interactor });
    return { ...verdictsIn(Buffer.from(bytes).toString()), grading: await gradingOf(crossing) };
  },
};

export const typescriptClient: Place = {
  title: 'TypeScript client',
  group: 'callers',
  service: 'usual',
  shows: OF_EVERY_JOB,
  except: { packaged: READ_BY_THE_COMMAND },
  open: withoutOpening({ play: async (crossing) => await playCaller(caller, crossing) }),
};
