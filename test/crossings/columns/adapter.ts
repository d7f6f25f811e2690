/** Shared by the three adapters' columns: opens an adapter for each cell, and calls it. */
import { type AdapterName, openAdapter } from '@vouchbox/adapters';
import type { Crossing } from '../crossing.ts';

export interface AdapterAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the adapter answered
  readonly json: any;
}

export type Ask = (path: string, body?: unknown) => Promise<AdapterAnswer>;

/**
 * Opens an adapter for the cell's service and tenant, and closes it after the callback. If a program needs a pack, the
 * adapter is started with the pack's name.
 */
export async function withAdapter<Result>(
  name: AdapterName,
  { client, scenario: { program } }: Crossing,
  use: (ask: Ask) => Promise<Result>,
): Promise<Result> {
  const runtimes = program.runtime ? { [program.language]: program.runtime } : {};
  await using adapter = await openAdapter(name, { client, host: '127.0.0.1', port: 0, key: null, runtimes });
  return await use(async (path, body) => {
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(adapter.url + path, { ...sent, headers: { 'content-type': 'application/json' } });
    return { status: answer.status, json: await answer.json() };
  });
}

/** The reasons why a feature cannot be tried at an adapter. These sentences hold for all three adapters. */
export const NOT_IN_THEIR_INTERFACE = {
  env: (name: string) => `A request of ${name} has no variables.`,
  session: (name: string) => `A request of ${name} cannot go on from an earlier one.`,
  tools: (name: string) => `A request of ${name} names no tools, and nobody answers while it runs.`,
  libraries: (name: string) =>
    `A request of ${name} names no archive of libraries. Whoever starts the adapter names a pack.`,
  links: (name: string) => `${name} has no way to give a result to somebody without access.`,
  labels: (name: string) => `A request of ${name} has no labels.`,
  reproducible: (name: string) => `A request of ${name} has no word for a fixed hash seed.`,
  promised: (name: string) =>
    `A request of ${name} asks for no promise. A setting makes one for each job of a service.`,
  repeated: (name: string) => `A request of ${name} has no key, so one that is sent again is another run.`,
  from_job: (name: string) => `${name} has no way to say that a file is an output of another request.`,
  by_digest: (name: string) => `An answer of ${name} brings no bytes by a digest.`,
  named_stdin: (name: string) => `A request of ${name} has its standard input in itself, which is a text.`,
  built: (name: string) =>
    `A request of ${name} has a program, which the adapter builds, and cannot have options of builds.`,
  interactive: (name: string) => `A request of ${name} has no second program that judges.`,
  pair: (name: string) => `A request of ${name} has one program.`,
  upload: (name: string) =>
    `${name} sends its files in the request itself, of which a job takes 2 MiB each, so none is uploaded before.`,
};

/** The status of a job without a result, read from an adapter's error message: no adapter's interface has such a status. */
export function endWithoutResult(message: unknown): 'cancelled' | 'error' {
  return /: cancelled\b/.test(String(message)) ? 'cancelled' : 'error';
}
