import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const place = mkdtempSync(join(tmpdir(), 'svc-command-'));
afterAll(() => rmSync(place, { recursive: true }));

test('the command starts the Node beside its packages, without an inspector and with little room for new objects', () => {
  const [programs, command] = [join(place, 'node_modules/.bin'), join(place, 'packages/cli/bin')];
  for (const directory of [programs, command]) mkdirSync(directory, { recursive: true });
  writeFileSync(join(programs, 'node'), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 });
  copyFileSync(join(import.meta.dirname, '../bin/vouchbox'), join(command, 'vouchbox'));
  const words = execFileSync(join(command, 'vouchbox'), ['serve', '--port', '0'], { encoding: 'utf8' });
  const options = ['--disable-sigusr1', '--max-semi-space-size=8'];
  expect(words.trimEnd().split('\n')).toEqual([...options, join(command, 'vouchbox.mjs'), 'serve', '--port', '0']);
});
