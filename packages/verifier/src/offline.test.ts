/**
 * The verifier reads the files that it is given and contacts nobody. The tests search its sources and trace one run.
 */
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { attestedJob, exportOf, Scratch } from '../test/attested-job.ts';

const root = join(import.meta.dirname, '../../..');
const command = join(import.meta.dirname, '../bin/service-verify.mjs');
const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

describe('the source files of the verifier', () => {
  const sources = globSync('packages/{verifier,evidence,protocol}/src/**/*.ts', { cwd: root }).filter(
    (file) => !file.endsWith('.test.ts'),
  );

  test('are found: there are more than 40', () => {
    expect(sources.length).toBeGreaterThan(40);
  });

  test.each(sources)(
    '%s imports and calls nothing that could use a network',
    { tags: ['Authentication-10b'] },
    (file) => {
      const text = readFileSync(join(root, file), 'utf8');
      const core = Array.from(text.matchAll(/from '(node:[^']+)'/g), ([, name]) => name);
      expect(
        core.filter((name) => !['node:fs', 'node:path', 'node:buffer', 'node:crypto'].includes(name as string)),
      ).toEqual([]);
      expect(text).not.toMatch(
        /\b(?:fetch|WebSocket|EventSource|XMLHttpRequest|require)\s*\(|\bimport\(|process\.binding/,
      );
    },
  );
});

/** Whether processes can be watched here: strace may be missing, or tracing forbidden. */
const canTrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;
if (!canTrace) process.stderr.write('SKIPPED: strace does not work here, so the verifier is not watched as it runs\n');

/** Where Node, its libraries and the verifier's own sources are. */
const OWN = [root, '/usr/', '/lib', '/proc/', '/sys/', '/dev/', '/etc/ld.so', '/etc/ssl/'].map((path) =>
  path.replace(/\/$/, ''),
);

describe.runIf(canTrace)('the running verifier', () => {
  /**
   * Runs the verifier. Returns, in order, its network calls and the files outside `OWN` that it tried to open.
   */
  function watch(words: readonly string[]): { exitCode: number | null; network: string[]; opened: string[] } {
    const log = join(scratch.path, 'strace.log');
    const traced = ['-f', '-qq', '-s', '4096', '-e', 'trace=%network,open,openat,openat2', '-o', log];
    const { status } = spawnSync('strace', [...traced, process.execPath, command, ...words], { cwd: scratch.path });
    const calls = readFileSync(log, 'utf8').split('\n');
    const opened = calls.flatMap((call) => /\bopen(?:at2?)?\(.*?"([^"]*)"/.exec(call)?.[1] ?? []);
    return {
      exitCode: status,
      network: calls.filter((call) => /\b(?:socket|connect|bind|sendto|sendm?msg)\(/.test(call)),
      opened: opened.filter(
        (path) => !OWN.some((place) => path === place || path.startsWith(`${place}/`) || path.startsWith(`${place}.`)),
      ),
    };
  }

  const job = attestedJob({ outputs: { 'output/a': 'x' } });
  const key = scratch.write('key.pem', job.key.publicKeyPem);

  test('opens each named file once, no other file, and no socket, whatever the envelope hints at (AUTH-04, ATT-12)', () => {
    const value = JSON.parse(new TextDecoder().decode(job.attestation.envelope)) as { signatures: object[] };
    const hints = { keyid: '../../../../etc/hostname', jku: 'http://127.0.0.1:1/jwks', x5u: 'http://127.0.0.1:1/x' };
    const signatures = value.signatures.map((signature) => ({ ...signature, ...hints }));
    const envelope = scratch.write('envelope', JSON.stringify({ ...value, signatures, ...hints }));
    const subject = scratch.write('subject', job.attestation.result);
    const words = ['--envelope', envelope, '--subject', subject, '--public-key', key, '--tenant', job.tenant];
    const seen = watch(['verify', ...words, '--subject-name', `svc://jobs/${job.job_id}/result`]);
    expect({ ...seen, opened: seen.opened.sort() }).toEqual({
      exitCode: 0,
      network: [],
      opened: [envelope, key, subject].sort(),
    });
  });

  test('opens each file of an exported directory once, and no other file but the pinned key', () => {
    const files = exportOf(job);
    const directory = scratch.writeAll('export', files);
    const { exitCode, network, opened } = watch(['directory', directory, '--public-key', key, '--tenant', job.tenant]);
    const listed = [directory, `${directory}/`, join(directory, 'output')];
    expect({ exitCode, network }).toEqual({ exitCode: 0, network: [] });
    expect(opened.filter((path) => !listed.includes(path)).sort()).toEqual(
      [key, ...Array.from(files.keys(), (path) => join(directory, path))].sort(),
    );
  });
});

test('service-verify runs in its own Node, whichever Node comes first in the path', () => {
  const older = mkdtempSync(join(tmpdir(), 'svc-older-node-'));
  writeFileSync(join(older, 'node'), '#!/bin/sh\necho v18.0.0; exit 9\n', { mode: 0o755 });
  const launcher = join(import.meta.dirname, '../bin/service-verify');
  const options = { encoding: 'utf8', env: { PATH: `${older}:${process.env['PATH']}` } } as const;
  expect(spawnSync(launcher, ['--version'], options).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(spawnSync(launcher, ['verify'], options).status).toBe(1);
  rmSync(older, { recursive: true });
});
