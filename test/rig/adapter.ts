/** An adapter for the tests in one file. The adapter calls the service that these tests' rig has started. */
import { type AdapterName, openAdapter } from '@vouchbox/adapters';
import { afterAll, beforeAll } from 'vitest';
import type { Rig } from './rig.ts';

/** Opens an adapter for the tenant `alpha` while the tests run, and returns the adapter's address. */
export function useAdapter(rig: () => Rig, name: AdapterName, key: string | null = null): () => string {
  let opened: Awaited<ReturnType<typeof openAdapter>>;
  beforeAll(async () => {
    opened = await openAdapter(name, { client: rig().alpha.client, host: '127.0.0.1', port: 0, key });
  });
  afterAll(() => opened[Symbol.asyncDispose]());
  return () => opened.url;
}

/** The id of the job that a Judge0 token stands for. */
export const jobOf = (token: string) => (token.startsWith('job_') ? (token.split('.')[0] ?? '') : `job_${token}`);

export interface AdapterAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came
  readonly json: any;
}

export async function call(url: string, body?: unknown, headers: Record<string, string> = {}): Promise<AdapterAnswer> {
  const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const answer = await fetch(url, { ...sent, headers: { 'content-type': 'application/json', ...headers } });
  return { status: answer.status, json: await answer.json() };
}

export const DOES_NOT_COMPILE = 'int main( { return 0; }';
