/** The development subprocess isolates nothing. These tests try the few promises that it must still keep. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { outputText } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openProvider } from '../../packages/server/src/sandbox/prove/preflight.ts';
import type { Collection, Provider } from '../../packages/server/src/sandbox/sandbox.ts';
import type { Attack } from './hostile-case.ts';
import { programOf, WORK_BYTES } from './target.ts';

describe('the development subprocess', () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'svc-hostile-development-'));
  let provider: Provider;

  beforeAll(async () => {
    process.env['SECRET_HOST_ENV'] = 'planted-for-development';
    const options = { packsDirectory: null, workBytes: WORK_BYTES, hostPostureSha256: null };
    ({ provider } = await openProvider({ choice: 'subprocess', instance: dataDirectory, ...options }));
  });
  afterAll(async () => {
    await provider[Symbol.asyncDispose]();
    rmSync(dataDirectory, { recursive: true });
  });

  async function attack(given: Attack): Promise<Collection & { readonly stdout: string }> {
    const program = programOf(given);
    await using cell = await provider.prepare({ language: program.language, runtime: null });
    const loaded = await cell.handOver(program);
    let stdout = '';
    const running = loaded.release((stream, records) => {
      if (stream === 'stdout') for (const record of records) stdout += outputText(record);
    });
    return { ...(await running.collect()), stdout };
  }

  test('ESC-02: gives a program nothing of the service’s environment', { tags: ['ESC-02'] }, async () => {
    for (const program of ['environment.cjs', 'environment.sh']) {
      const { stdout } = await attack({ program });
      expect(stdout).not.toContain('planted-for-development');
      expect(Object.keys((JSON.parse(stdout) as { own: object }).own)).not.toContain('SECRET_HOST_ENV');
    }
  });

  test('ESC-12: does not report a traced program that only stopped as one that ended well', {
    tags: ['ESC-12'],
  }, async () => {
    const { ending, stdout } = await attack({ program: 'traceme.py', limits: { wall_seconds: 5 } });
    expect([ending, stdout]).toEqual([{ kind: 'signaled', signal: 'SIGKILL' }, 'traced\n']);
  });

  test('RES-15: does not wait for a daemon that left the group and closed everything', {
    tags: ['RES-15'],
  }, async () => {
    const { ending, stdout } = await attack({ program: 'short-daemon.py' });
    expect([ending, stdout]).toEqual([{ kind: 'exited', exit_code: 0 }, 'left one\n']);
  });

  test('ART-01, ART-03, ART-06: takes no link, FIFO, socket or hard link as an output', {
    tags: ['ART-01', 'ART-03', 'ART-06'],
  }, async () => {
    const names = ['absolute', 'process', 'loop', 'outside/passwd', 'fifo0', 'socket', 'directory', 'first', 'second'];
    const outputs = [...names, 'real'].map((name) => `output/${name}`);
    const { artifacts, violations } = await attack({ program: 'outputs-here.py', outputs });
    expect(artifacts.map(({ path }) => path)).toEqual(['output/real']);
    expect(violations.map(({ path }) => path)).toEqual(names.map((name) => `output/${name}`));
  });
});
