/** Calls the service with the TypeScript client, or calls an adapter as its own users do: see `CallerProcess`. */
import { createInterface } from 'node:readline';
import { createServiceClient } from '@vouchbox/client';
import type { Answered, BurstOrder, CallerName } from './callers.ts';

const PRINTED = 'hello\n';
const CODE = 'print("hello")';

const [name, url = ''] = process.argv.slice(2);

/** A function that makes one call, and returns what the program printed. */
function callOf(caller: Exclude<CallerName, 'python'>): () => Promise<unknown> {
  switch (caller) {
    case 'typescript': {
      const client = createServiceClient({ baseUrl: url, apiKey: process.env['CALLER_KEY'] ?? '' });
      return async () => (await client.run(CODE, { language: 'python' })).stdout;
    }
    case 'piston': {
      const body = { language: 'python', version: '*', files: [{ content: CODE }] };
      return async () => (await posted<{ run: { stdout: string } }>('/api/v2/execute', body)).run.stdout;
    }
    case 'judge0': {
      const body = { language_id: 71, source_code: CODE };
      return async () => (await posted<{ stdout: string }>('/submissions?wait=true', body)).stdout;
    }
    case 'sandbox-fusion': {
      const body = { language: 'python', code: CODE };
      return async () => (await posted<{ run_result: { stdout: string } }>('/run_code', body)).run_result.stdout;
    }
  }
}

async function posted<Answer>(path: string, body: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status}: ${text.slice(0, 300)}`);
  return JSON.parse(text) as Answer;
}

async function obey({ runs, atOnce }: BurstOrder, call: () => Promise<unknown>): Promise<Answered> {
  const problems: string[] = [];
  let left = runs;
  const drive = async () => {
    while (left-- > 0) {
      const printed = await call().catch((error: unknown) => error);
      if (printed !== PRINTED) problems.push(String(printed));
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: atOnce }, drive));
  const milliseconds = performance.now() - started;
  return { milliseconds, unanswered: problems.length, problem: problems[0] ?? null };
}

const call = callOf(name as Exclude<CallerName, 'python'>);
for await (const line of createInterface(process.stdin)) {
  process.stdout.write(`${JSON.stringify(await obey(JSON.parse(line) as BurstOrder, call))}\n`);
}
