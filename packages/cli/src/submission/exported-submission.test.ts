/** Which submission is restored from a hostile export. The export's files pass verification, because its author signed them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sha256Hex } from '@vouchbox/evidence';
import { afterAll, expect, test } from 'vitest';
import { submissionIn } from './exported-submission.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-exported-submission-'));
afterAll(() => rmSync(directory, { recursive: true }));

const POLICY = { limits: { wall_seconds: 1 }, outputs: [], runtime: null, allow_network: false };
const RECEIPT = { language: 'python', input_artifacts: [{ path: 'input/a' }] };

function submissionOf(receipt: object, policy: object): ReturnType<typeof submissionIn> {
  const texts = {
    'receipt.json': JSON.stringify(receipt),
    'policy.json': JSON.stringify(policy),
    code: '1',
    'input/a': 'x',
  };
  const files = Object.entries(texts).map(([path, text]) => {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
    return { path, bytes: new TextEncoder().encode(text), size_bytes: text.length, sha256: sha256Hex(text) };
  });
  const whole = new Map(files.map(({ path, bytes }) => [path, bytes]));
  return submissionIn(directory, { manifest: { files }, files: whole } as never, { product: undefined });
}

test('the submission in a valid export can be submitted again', () => {
  expect(submissionOf(RECEIPT, POLICY).submission).toMatchObject({ code: '1', files: [{ path: 'input/a' }] });
});

test.each([
  [
    'names a file twice, which would then be in memory twice',
    { ...RECEIPT, input_artifacts: [{ path: 'input/a' }, { path: 'input/a' }] },
    POLICY,
    'names a file twice',
  ],
  [
    'names a file that it does not have',
    { ...RECEIPT, input_artifacts: [{ path: '../../etc/passwd' }] },
    POLICY,
    'is not in the export',
  ],
  [
    'demands what no job can demand',
    RECEIPT,
    { ...POLICY, interactor: { language: 'bash', code: 'true' } },
    'it demanded interactor',
  ],
  ['has a job that started a product', RECEIPT, { ...POLICY, product: { job_id: 'job_1' } }, '--product'],
])('an export that %s is refused', (_what, receipt, policy, says) => {
  expect(() => submissionOf(receipt, policy)).toThrow(says);
});
