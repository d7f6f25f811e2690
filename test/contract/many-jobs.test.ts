/** Many jobs at once: each returns exactly its own output. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';

const rig = useRig();

/** A program that writes unique text on both streams. The index selects one language after the other. */
function programOf(index: number): { language: string; code: string } {
  switch (index % 3) {
    case 0:
      return {
        language: 'python',
        code: `import sys\nfor i in range(50): print('${index}', i, 'x' * ${index})\nprint('e${index}', file=sys.stderr)`,
      };
    case 1:
      return {
        language: 'node',
        code: `for (let i = 0; i < 50; i++) console.log('${index}', i, 'x'.repeat(${index}));\nconsole.error('e${index}');`,
      };
    default:
      return {
        language: 'bash',
        code: `x=$(printf '%*s' ${index} ''); for i in {0..49}; do echo "${index} $i \${x// /x}"; done; echo e${index} >&2`,
      };
  }
}

test('each of two hundred concurrently submitted jobs returns exactly its own output', async () => {
  const indices = Array.from({ length: 200 }, (_, index) => index);
  const submitted = await Promise.all(indices.map((index) => rig().alpha.client.submit(programOf(index))));
  expect(new Set(submitted.map(({ job_id }) => job_id)).size).toBe(200);
  for (const [index, { job_id }] of submitted.entries()) {
    const { result, detail } = await rig().ended(job_id);
    const stdout = Array.from({ length: 50 }, (_, line) => `${index} ${line} ${'x'.repeat(index)}\n`).join('');
    expect(result).toMatchObject({
      status: 'succeeded',
      exit_code: 0,
      stdout,
      stderr: `e${index}\n`,
      truncated: false,
    });
    const raw = createHash('sha256').update(stdout).digest('hex');
    expect(detail.receipt?.executor_output?.stdout.raw_sha256).toBe(raw);
  }
}, 240_000);
