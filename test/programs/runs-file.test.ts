/** The runs that `npm run programs -- --runs FILE` keeps. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Run } from './program.ts';
import { openRunsFile } from './runs-file.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-runs-file-'));
afterEach(() => rmSync(directory, { recursive: true }));

const passed: Run = { ended: 'exit 0', stdout: 'said\n', stderr: '', seconds: 1.5, runtime: null };

test('a reopened runs file has the last run of each program in each place', () => {
  const path = join(directory, 'runs.jsonl');
  const first = openRunsFile(path);
  first.add('command/ls', 'bare', { ...passed, ended: 'exit 2' });
  first.add('command/ls', 'bare', passed);
  first.add('command/ls', 'gvisor', { ...passed, runtime: 'runsc 1' });
  const again = openRunsFile(path);
  expect(again.find('command/ls', 'bare')).toEqual(passed);
  expect(again.find('command/ls', 'gvisor')).toEqual({ ...passed, runtime: 'runsc 1' });
  expect(again.find('command/ls', 'namespace')).toBeUndefined();
});
