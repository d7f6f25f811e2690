import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const SVC = fileURLToPath(new URL('../../bin/vouchbox', import.meta.url));
const packs = mkdtempSync(join(tmpdir(), 'svc-cli-packs-'));
afterAll(() => rmSync(packs, { recursive: true }));

function svcPacks(args: readonly string[], as: { uid?: number } = {}) {
  const words = ['packs', ...args, '--runtime-packs-dir', packs];
  const { status, stdout, stderr } = spawnSync(SVC, words, { ...as, encoding: 'utf8', env: {}, cwd: '/' });
  return { status, stdout, stderr };
}

test('the list of packs is empty if no pack is built', () => {
  expect(svcPacks(['list', '--json'])).toEqual({ status: 0, stdout: '[]\n', stderr: '' });
});

test.each(['verify', 'remove'])(
  '`packs %s` fails for an unknown pack, and the message names the command that lists the packs',
  (command) => {
    const stderr = `vouchbox: there is no runtime pack nothing in ${packs}; \`vouchbox packs list\` shows all packs\n`;
    expect(svcPacks([command, 'nothing'])).toEqual({ status: 1, stdout: '', stderr });
  },
);

test('an unknown recipe is wrong usage, and the message names the known ones', () => {
  expect(svcPacks(['build', 'nothing'])).toMatchObject({ status: 2, stderr: expect.stringContaining('python-data') });
});

test('a recipe given as a path is read from that file, and an error in the recipe is reported', () => {
  const file = join(packs, '.recipe.json');
  writeFileSync(file, '{"name":"x"}');
  expect(svcPacks(['build', file])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(`vouchbox: ${file}: `),
  });
});

test('only root can build a pack', () => {
  const { status, stderr } = svcPacks(['build', 'python-data'], { uid: 65534 });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'vouchbox: only root can build a runtime pack; run it as root\n',
  });
});

test('if the build of a pack is killed, all processes of the build end and no pack is left', async () => {
  const words = ['packs', 'build', 'python-data', '--runtime-packs-dir', packs];
  const build = spawn(SVC, words, { stdio: ['ignore', 'ignore', 'pipe'], env: {} });
  await once(build.stderr, 'data');
  expect(processesNaming(packs).length).toBeGreaterThan(1);
  build.kill('SIGKILL');
  await expect.poll(() => processesNaming(packs), { timeout: 30_000 }).toEqual([]);
  expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(packs);
  expect(svcPacks(['list', '--json']).stdout).toBe('[]\n');
});

function processesNaming(text: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return pid !== String(process.pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
    } catch {
      return false; // This name is no process id, or the process has ended.
    }
  });
}
