/** docs/TUTORIAL.md, walked in one shell from its first block to its last: every line after an arrow is printed, in order. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';

const root = join(import.meta.dirname, '../..');
const blocksOf = (file: string) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/^```sh\n(.*?)^```/gms)].map(([, text = '']) => text);
const [SET_UP, START, ...WALK] = blocksOf('docs/TUTORIAL.md');
const rig = useRig({ 'attestation-mode': 'on' });
const scratch = mkdtempSync(join(tmpdir(), 'svc-tutorial-'));
afterAll(() => rmSync(scratch, { recursive: true }));

test('docs/TUTORIAL.md starts as README.md does', () => {
  const readme = blocksOf('README.md');
  expect(SET_UP).toBe(readme[0]?.replace('\n', ' -- --once\n'));
  expect(readme).toContain(START);
});

test('docs/TUTORIAL.md leads from a program to a result that somebody else verified, and to a forgery that is found', async () => {
  const { service, alpha, dataDir } = rig();
  const walk = WALK.join('\n')
    .replaceAll('http://127.0.0.1:8080', service.url)
    .replaceAll('change-this-key', alpha.key)
    .replaceAll('--tenant me', '--tenant alpha')
    .replace('"$PWD/data"', dataDir);
  const { PATH = '' } = process.env;
  const env = { PATH, HOME: scratch, TMPDIR: scratch };
  const { stdout } = await promisify(execFile)('bash', ['-euc', `exec 2>&1 < /dev/null\n${walk}`], { cwd: root, env });
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
});
