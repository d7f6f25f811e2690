/** What svc-sentry does if a process that it starts ends before the cell runs. No service runs in these tests. */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { installed } from '../../kernel/host/executable.ts';
import { nativePath } from '../../native/native.ts';

const ROOT_UID = '2000000000';
/** This bound only ends a start that hangs. */
const MILLISECONDS_MAX = 60_000;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-sentry-start-'));
  // The users of a cell must be able to pass through this directory.
  chmodSync(directory, 0o711);
  mkdirSync(join(directory, 'rootfs'));
  writeFileSync(join(directory, 'config.json'), '{}');
  writeFileSync(join(directory, 'not-a-program'), '');
});
afterEach(() => rmSync(directory, { recursive: true }));

test('if runsc cannot be executed, svc-sentry ends at once and says why', async () => {
  expect(await start([], [join(directory, 'not-a-program')])).toEqual({
    code: 125,
    said: expect.stringContaining('svc-sentry: cannot start runsc: Permission denied'),
  });
});

test('if runsc ends before it gets its configuration, svc-sentry ends at once', async () => {
  expect(await start([], [installed('runsc'), '--no-such-flag'])).toEqual({
    code: 125,
    said: expect.stringMatching(/svc-sentry: .* failed: runsc ended/),
  });
});

test('if svc-sentry cannot make a mount for the file server, it ends at once and names the mount', async () => {
  const missing = [join(directory, 'missing'), '/usr', '0'];
  expect(await start(missing, [installed('runsc'), '--platform=ptrace', '--network=none'])).toEqual({
    code: 125,
    said: expect.stringContaining('svc-sentry: cannot show /usr: No such file or directory'),
  });
});

function start(binds: readonly string[], runsc: readonly string[]): Promise<{ code: unknown; said: string }> {
  const words = [directory, 'cell', ROOT_UID, join(directory, 'rootfs'), '-', ...binds, '--', ...runsc];
  return new Promise((resolve) => {
    execFile(nativePath('svc-sentry'), words, { timeout: MILLISECONDS_MAX }, (error, _, said) => {
      resolve({ code: error?.code, said });
    });
  });
}
