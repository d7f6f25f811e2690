/** All blocks in docs/TUTORIAL.md, run in one shell: they print every line that follows an arrow, in order. */
import { execFile } from 'node:child_process';
import { chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { Command, commandFile } from '../rig/command.ts';
import { useRig } from '../rig/rig.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const blocksOf = (file: string) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/^```sh\n(.*?)^```/gms)].map(([, text = '']) => text);
const [SET_UP, START, ...WALK] = blocksOf('docs/TUTORIAL.md');
const rig = useRig({ 'attestation-mode': 'on' });
/** An ordinary user without any rights to the files of this checkout or of a service. */
const NOBODY = 65_534;
const AS_NOBODY = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];

function emptyHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'svc-tutorial-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  return home;
}

/** Runs the blocks with this key of the tenant, as a child of the command `within`, and checks what the blocks print. */
async function expectWalk(
  walker: { url: string; key: string; tenant: string; dataDir: string; home: string },
  within: readonly string[] = [],
) {
  const { url, key, tenant, dataDir, home } = walker;
  const text = WALK.join('\n')
    .replaceAll('http://127.0.0.1:8080', url)
    .replaceAll('change-this-key', key)
    .replaceAll('--tenant me', `--tenant ${tenant}`)
    .replace('"$PWD/data"', dataDir);
  const { PATH = '' } = process.env;
  const env = { PATH, HOME: home, TMPDIR: home };
  const [command, ...words] = [...within, 'bash', '-euc', `exec 2>&1 < /dev/null\n${text}`];
  const { stdout } = await run(command, words, { cwd: root, env });
  expectShown(stdout);
}

function expectShown(stdout: string): void {
  const shown = WALK.flatMap((block) => [...block.matchAll(/^# → (.*)$/gm)].map(([, line = '']) => line));
  expect(shown.length).toBeGreaterThan(15);
  let rest = stdout.split('\n');
  for (const line of shown) {
    const pattern = new RegExp(
      `^${line
        .split('…')
        .map((part) => RegExp.escape(part))
        .join('.*')}$`,
    );
    const at = rest.findIndex((printed) => pattern.test(printed));
    expect([line, at === -1 ? rest.join('\n') : 'printed']).toEqual([line, 'printed']);
    rest = rest.slice(at + 1);
  }
}

test('the first commands in docs/TUTORIAL.md are those in README.md', () => {
  const readme = blocksOf('README.md');
  expect(SET_UP).toBe(readme[0]?.replace('\n', ' -- --once\n'));
  expect(readme).toContain(START);
});

test('the commands in docs/TUTORIAL.md run a program, verify its result, and detect a forged result', async () => {
  const { service, alpha, dataDir } = rig();
  await expectWalk({ url: service.url, key: alpha.key, tenant: 'alpha', dataDir, home: emptyHome() });
});

test('the commands in docs/TUTORIAL.md work for an ordinary user who has only user namespaces', {
  timeout: 300_000,
}, async () => {
  const home = emptyHome();
  chownSync(home, NOBODY, NOBODY);
  const dataDir = join(home, 'data');
  const env = { HOME: home, SERVICE_DATA_DIR: dataDir, SERVICE_PORT: '0', SERVICE_LEGACY_KEYS: 'me=change-this-key' };
  await using service = new Command(['serve'], { env, within: AS_NOBODY });
  const [, url = ''] = await service.shows(/^listening on (\S+)$/m);
  await expectWalk({ url, key: 'change-this-key', tenant: 'me', dataDir, home }, AS_NOBODY);
});

test('vouchbox demo --once shows a verified result to an ordinary user', { timeout: 300_000 }, async () => {
  const home = emptyHome();
  chownSync(home, NOBODY, NOBODY);
  const { PATH = '' } = process.env;
  const env = { PATH, HOME: home, TMPDIR: home };
  const [command, ...words] = [...AS_NOBODY, commandFile, 'demo', '--once'];
  const { stdout } = await run(command, words, { cwd: root, env });
  expect(stdout).toMatch(/^ +ok +signature /m);
});
