/** A program of another project compiles strictly against the declarations. The compiler checks the declarations, too. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { PINNED_PATH, Project } from './project.ts';

const tarballs = inject('tarballs');
const tsc = join(import.meta.dirname, '../../node_modules/.bin/tsc');
const STRICT = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'esnext', '--skipLibCheck', 'false'];

function compile(project: Project, text: string, ...words: readonly string[]): string {
  return project.run(tsc, ...STRICT, ...words, project.write('consumer.ts', text)).stdout;
}

describe('a project that depends only on @vouchbox/client', () => {
  let project: Project;
  beforeAll(async () => {
    project = new Project(PINNED_PATH);
    await project.install(...tarballs.filter(({ name }) => name === '@vouchbox/client').map(({ path }) => path));
  });
  afterAll(() => project[Symbol.dispose]());

  const PAGE = ['--types', '', '--lib', 'esnext,dom,dom.iterable'];

  test('compiles', () => {
    const text = `
      import { createServiceClient, ServiceFailure, type ServiceClient, type Verdict } from '@vouchbox/client';
      const client: ServiceClient = createServiceClient({ baseUrl: 'http://127.0.0.1:8080', apiKey: 'key' });
      const { job_id, created_at } = await client.submit({ language: 'python', code: 'print(1)', limits: { mem_mb: 64 } });
      const { status, exit_code, violations } = await client.waitForResult(job_id);
      const words: string[] = [created_at, status, String(exit_code), ...violations.map(({ type }) => type)];
      for (const { language } of (await client.list({ limit: 5, status: ['queued'] })).items) words.push(language);
      export const pointsOf = ({ points }: Verdict): number => points;
      export const told = (error: unknown) => (error instanceof ServiceFailure ? error.code : words.join());`;
    expect(compile(project, text, ...PAGE)).toBe('');
  });

  test('gets a compiler error for members and values that the contract does not have', () => {
    const text = `
      import { createServiceClient } from '@vouchbox/client';
      const client = createServiceClient({ baseUrl: 'http://127.0.0.1:8080', apiKey: 'key' });
      await client.submit({ language: 'python', code: 1 });
      (await client.detail('job_1')).no_such_member;
      (await client.result('job_1')).status === 'no such status';`;
    const errors = compile(project, text, ...PAGE);
    expect(errors.match(/error TS\d+/g)).toEqual(['error TS2322', 'error TS2339', 'error TS2367']);
  });
});

describe('a project that depends on every package', () => {
  let project: Project;
  beforeAll(async () => {
    project = new Project(PINNED_PATH);
    const types = ['@types/node@26', '@opentelemetry/api@1'];
    await project.install('--omit=optional', ...types, ...tarballs.map(({ path }) => path));
  });
  afterAll(() => project[Symbol.dispose]());

  test('compiles, and the compiler finds no fault in the declarations', () => {
    const text = `
      import { verifyChain } from '@vouchbox/evidence';
      import { JobSubmission, OPERATIONS } from '@vouchbox/protocol';
      import { ERRORS } from '@vouchbox/protocol/vocabulary';
      import { loadConfig } from '@vouchbox/server/administration';
      import { startService } from '@vouchbox/server/service';
      import { parseExport, verifyExport } from '@vouchbox/verifier';
      import { openEmbeddedService } from 'vouchbox/embedded-service';
      export const all = [verifyChain, JobSubmission, OPERATIONS, ERRORS, loadConfig, parseExport, verifyExport];
      export const verdict = await verifyExport(parseExport(new Map()), { publicKeys: [''], tenant: 'me' });
      export const isGood: boolean = verdict.exitCode === 0;
      export const started = [startService, openEmbeddedService];`;
    expect(compile(project, text, '--types', 'node')).toBe('');
  });
});
