/** Spec § GET /v1/jobs/{id}/result: the folded result, at once or after the job's end. */
import { describe, expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';

const rig = useRig();

describe('the result', () => {
  test('has exactly the specified members', {
    tags: ['What-7', 'Result-1', 'Result-4', 'GetResult-1'],
  }, async () => {
    const { job_id } = await rig().run({
      language: 'bash',
      code: 'echo out; echo err >&2; echo x > output/a; exit 3',
      outputs: ['output/a'],
    });
    const { status, json, headers } = await rig().request(`/v1/jobs/${job_id}/result`);
    expect(status).toBe(200);
    expect(json).toEqual({
      job_id,
      status: 'failed',
      exit_code: 3,
      duration_ms: json.duration_ms,
      stdout: 'out\n',
      stderr: 'err\n',
      truncated: false,
      violations: [],
      artifacts: [{ path: 'output/a', content_base64: 'eAo=', size_bytes: 2, sha256: json.artifacts[0].sha256 }],
    });
    expect(json.duration_ms).toBeGreaterThan(0);
    expect(Number(headers.get('content-length'))).toBeGreaterThan(0);
  });

  test('is the same every time it is read', async () => {
    const { job_id } = await rig().run({ language: 'bash', code: 'echo once' });
    const first = await rig().request(`/v1/jobs/${job_id}/result`);
    const second = await rig().request(`/v1/jobs/${job_id}/result?wait_seconds=5`);
    expect(second.text).toBe(first.text);
  });
});

describe('a read of the result with wait_seconds', () => {
  test('answers as soon as the job ends, long before the wait runs out', { tags: ['GetResult-3'] }, async () => {
    const { job_id } = await rig().alpha.client.submit({ language: 'bash', code: 'sleep 0.3; echo done' });
    const started = performance.now();
    const { json } = await rig().request(`/v1/jobs/${job_id}/result?wait_seconds=60`);
    expect(json).toMatchObject({ status: 'succeeded', stdout: 'done\n' });
    expect(performance.now() - started).toBeLessThan(30_000);
  });

  test('answers 200 with the current status and the output so far if the wait runs out', {
    tags: ['Result-2', 'Result-4', 'GetResult-4'],
  }, async () => {
    const { client } = rig().alpha;
    const { job_id } = await client.submit({
      language: 'bash',
      code: 'echo so far; sleep 300',
      limits: { wall_seconds: 300 },
    });
    for await (const { kind } of client.follow(job_id)) if (kind === 'stdout') break;
    const { status, json } = await rig().request(`/v1/jobs/${job_id}/result?wait_seconds=0.2`);
    expect(status).toBe(200);
    expect(json).toEqual({
      job_id,
      status: 'running',
      exit_code: null,
      duration_ms: null,
      stdout: 'so far\n',
      stderr: '',
      truncated: false,
      violations: [],
      artifacts: [],
    });
    await client.cancel(job_id);
    await rig().ended(job_id);
  });

  test('gives every waiting reader the same result', async () => {
    const { job_id } = await rig().alpha.client.submit({ language: 'bash', code: 'sleep 0.3; echo done' });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => rig().request(`/v1/jobs/${job_id}/result?wait_seconds=30`)),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.json.status).toBe('succeeded');
  });

  test.each(['0', '0.5', '299.999', '300'])('accepts the value %s', { tags: ['GetResult-2'] }, async (wait) => {
    const { job_id } = await rig().run({ language: 'bash', code: 'true' });
    expect((await rig().request(`/v1/jobs/${job_id}/result?wait_seconds=${wait}`)).status).toBe(200);
  });

  test.each(['-1', '300.001', '301', 'NaN', 'Infinity', '', 'x', '1&wait_seconds=2'])(
    'refuses the value %j',
    { tags: ['GetResult-2', 'Limits-13', 'E-26'] },
    async (wait) => {
      const { job_id } = await rig().run({ language: 'bash', code: 'true' });
      const { status, json } = await rig().request(`/v1/jobs/${job_id}/result?wait_seconds=${wait}`);
      expect([status, json.error.code]).toEqual([400, 'invalid_request']);
    },
  );
});
