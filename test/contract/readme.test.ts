/** The blocks in README.md run unchanged: they submit a job, read its result, and let somebody else verify it. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';

const root = join(import.meta.dirname, '../..');
const README = readFileSync(join(root, 'README.md'), 'utf8');
const BLOCKS = [...README.matchAll(/^```sh\n(.*?)^```/gms)].map(([, text = '']) => text);
const rig = useRig({ 'attestation-mode': 'on' });
const scratch = mkdtempSync(join(tmpdir(), 'svc-readme-'));
afterAll(() => rmSync(scratch, { recursive: true }));

/** The one block that has these words. */
function blockWith(words: string): string {
  const found = BLOCKS.filter((block) => block.includes(words));
  expect(found).toHaveLength(1);
  return found[0] ?? '';
}

/**
 * A shell function in place of npx, because npx finds commands only in the checkout. The blocks run in another directory,
 * so that they leave nothing in the checkout. Their stdin is empty, like a terminal at which nobody types.
 */
const NPX = `exec < /dev/null; npx() { [ "$1" = --no ] || return 1; shift; "${root}/node_modules/.bin/$1" "\${@:2}"; }\n`;

/** Runs a block with this test's service, key and tenant in place of the README's. */
async function pasted(block: string, job_id = ''): Promise<{ stdout: string; stderr: string }> {
  const { service, alpha, dataDir } = rig();
  const text = block
    .replaceAll('http://127.0.0.1:8080', service.url)
    .replaceAll('change-this-key', alpha.key)
    .replaceAll('--tenant me', '--tenant alpha')
    .replaceAll('job_…', job_id);
  const { PATH = '' } = process.env;
  const env = { PATH, HOME: scratch, SERVICE_DATA_DIR: dataDir };
  return await promisify(execFile)('bash', ['-ec', NPX + text], { cwd: scratch, env });
}

test('the first example in README.md is one command, and .ci/run runs it too', () => {
  expect(BLOCKS[0]).toBe('npm run quickstart\n');
  expect(readFileSync(join(root, '.ci/run'), 'utf8')).toContain('step npm run quickstart -- --once\n');
});

test('the examples in README.md submit a job, show its result, and verify it with the exported key', async () => {
  const submitted = await pasted(blockWith('/v1/jobs?wait_seconds=10'));
  const { job_id, result } = JSON.parse(submitted.stdout) as { job_id: string; result: Record<string, unknown> };
  const shown = /^ {2}"result": (\{.*?^ {2}\})/ms.exec(README)?.[1] ?? '';
  expect(result).toMatchObject(JSON.parse(shown) as object);

  const isSigned = async () => (await rig().alpha.client.detail(job_id)).attestation.available;
  await expect.poll(isSigned).toBe(true);
  const { stdout } = await pasted(blockWith('attestation-keys export'), job_id);
  expect(stdout).toMatch(/^ok +signature/m);
  expect(stdout).toMatch(/^ok .*isolation>=linux-shared-kernel/m);
});

test('the example of vouchbox run in README.md runs a program and fetches its output', async () => {
  writeFileSync(join(scratch, 'program.py'), 'import sys; print(sys.argv[1:]); open("output/x", "w").write("1")');
  writeFileSync(join(scratch, 'data.csv'), '1,2\n');
  const { stdout } = await pasted(blockWith('vouchbox run program.py'));
  expect(stdout).toBe("['--bins', '20']\n");
  expect(readFileSync(join(scratch, 'output/x'), 'utf8')).toBe('1');
});
