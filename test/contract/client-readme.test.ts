/** The examples in the client's README run unchanged. */
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { createServiceClient, type RunResult, type StepResult, type Workspace } from '@vouchbox/client';
import { expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';

const README = readFileSync(join(import.meta.dirname, '../../packages/client/README.md'), 'utf8');
const EXAMPLES = [...README.matchAll(/^```ts\n(.*?)^```/gms)].map(([, text = '']) => text);
const rig = useRig({ links: 'on' });

/** The values that an example returns, for the test to check. */
interface Found {
  readonly result: RunResult;
  readonly bytes: Uint8Array;
  readonly job_id: string;
  readonly ended: { readonly stdout: string };
  readonly detail: { readonly receipt_sha256: string };
  readonly rows: RunResult;
  readonly workspace: Workspace;
  readonly step: StepResult;
  readonly receipt_sha256: string;
}

interface Module {
  readonly default: (...given: unknown[]) => Promise<Found>;
}

test('every example in the README runs, and does what its text says', async () => {
  const { service, alpha } = rig();
  const said: unknown[][] = [];
  const console = { log: (...words: unknown[]) => said.push(words) };
  const program = EXAMPLES.join('')
    .replace(/^import .*\n/m, '')
    .replace('http://127.0.0.1:8080', service.url)
    .replace('change-this-key', alpha.key);
  const names = 'result, bytes, job_id, ended, detail, rows, workspace, step, receipt_sha256';
  const body = `${stripTypeScriptTypes(program)}\nreturn { ${names} };`;
  const module = `export default async (createServiceClient, console) => {${body}}`;
  const { default: run } = (await import(`data:text/javascript,${encodeURIComponent(module)}`)) as Module;
  const found = await run(createServiceClient, console);

  expect(EXAMPLES).toHaveLength(10);
  expect(said[0]).toEqual(['succeeded', 0, '42\n']);
  expect(said.slice(1).flat()).toEqual([
    'connecting',
    'live',
    ...[1, 'queued', 2, 'started'],
    ...[3, 'stdout', '0\n', 4, 'stdout', '1\n', 5, 'stdout', '2\n'],
    ...[6, 'finished'],
    'closed',
    30,
    0,
    0,
    'hello',
    true,
    1,
  ]);
  expect(Buffer.from(found.bytes).toString()).toBe('a,b\n1,2\n');
  expect(found.ended.stdout).toBe('hello\n');
  expect(found.rows.stdout).toBe('1,2');
  expect(found.workspace.paths()).toEqual(['data.csv', 'rows.txt']);
  expect(found.step).toMatchObject({ stdout: '3\n', moved: true, kept: { globals: 1, not_kept: [] } });
  expect(found.receipt_sha256).toBe(found.detail.receipt_sha256);
});
