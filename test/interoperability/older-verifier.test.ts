/** The oldest `service-verify` that others may still use: it accepts what this version signs, and ignores newer members. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { attestedJob, exportOf, Scratch } from '../../packages/verifier/test/attested-job.ts';
import { run } from './run.ts';

const COMMIT = '6f6623a';
const PACKAGES = ['evidence', 'protocol', 'verifier'];
const root = join(import.meta.dirname, '../..');
const git = (...words: string[]) =>
  execFileSync('git', ['-C', root, ...words], { stdio: ['ignore', 'pipe', 'ignore'] });

/** False if this clone's history lacks the older version. */
const isThere = (() => {
  try {
    return git('cat-file', '-t', COMMIT).length > 0;
  } catch {
    process.stdout.write(`SKIPPED: this clone does not have commit ${COMMIT}\n`);
    return false;
  }
})();

/** Unpacks the older version's packages beside the libraries that are installed here. */
function unpack(directory: string): string {
  const paths = PACKAGES.map((name) => `packages/${name}`);
  execFileSync('tar', ['-x', '-C', directory], { input: git('archive', COMMIT, ...paths) });
  const modules = join(directory, 'node_modules');
  mkdirSync(join(modules, '@vouchbox'), { recursive: true });
  for (const name of PACKAGES) symlinkSync(join(directory, 'packages', name), join(modules, '@vouchbox', name));
  for (const from of [join(root, 'packages/verifier/node_modules'), join(root, 'node_modules')]) {
    const taken = new Set(readdirSync(modules));
    const names = readdirSync(from).filter((name) => !name.startsWith('.') && !taken.has(name));
    for (const name of names) symlinkSync(join(from, name), join(modules, name));
  }
  return join(directory, 'packages/verifier/bin/service-verify.mjs');
}

describe.skipIf(!isThere)(`service-verify of commit ${COMMIT}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-older-verifier-'));
  const scratch = new Scratch();
  let command = '';
  beforeAll(() => {
    command = unpack(directory);
  });
  afterAll(() => {
    scratch[Symbol.dispose]();
    rmSync(directory, { recursive: true });
  });

  test.each([
    ['a salt and a number', undefined],
    ['members of a later version', { canary: { age: 3 }, build: null }],
  ])('accepts an export whose statement has %s', { tags: ['Artifact-14'] }, async (_what, also) => {
    const job = attestedJob({ outputs: { 'output/a': 'a' }, ...(also !== undefined && { also }) });
    const path = scratch.writeAll(also === undefined ? 'salted' : 'later', exportOf(job));
    const key = scratch.write('key.pem', job.key.publicKeyPem);
    const words = ['directory', path, '--public-key', key, '--tenant', job.tenant, '--require', 'status=succeeded'];
    const { exitCode, stdout } = await run(process.execPath, [command, ...words, '--json']);
    const report = JSON.parse(stdout) as { verdict: string; facts: Readonly<Record<string, unknown>> };
    expect({ exitCode, verdict: report.verdict }).toEqual({ exitCode: 0, verdict: 'good' });
    // The older version does not report the salt. A report without a salt thus shows that the older version ran.
    expect(report.facts).toMatchObject({ job_id: job.job_id });
    expect(report.facts).not.toHaveProperty('salt');
  });
});
