import type { JobDetail } from '@vouchbox/client';
import { LIBRARIES_FILE } from '@vouchbox/protocol/vocabulary';
import { expect, test } from 'vitest';
import { submissionOf } from './submission-of.ts';

type Files = NonNullable<JobDetail['requested_spec']['files']>;

const PLAIN = {
  language: 'c',
  code: 'int main(){}',
  stdin: null,
  args: [],
  env: {},
  files: [{ path: 'input/a', content_base64: 'YQ==' }],
  outputs: [],
  runtime: null,
} as unknown as JobDetail['requested_spec'];

test('a repeated job that starts a product names the build rather than the product file', () => {
  const product = { path: 'input/product', from: { job_id: 'job_b', path: 'output/product' }, blob: 'sha256:b' };
  const files = [...(PLAIN.files ?? []), product] as Files;
  const again = submissionOf({
    requested_spec: { ...PLAIN, files, product: { job_id: 'job_b', pack_digest: 'sha256:p' } },
  });
  expect(again).toEqual({ ...PLAIN, product: { job_id: 'job_b' } });
});

test('a repeated job with libraries names their digest rather than the file that the service added', () => {
  const files = [...(PLAIN.files ?? []), { path: LIBRARIES_FILE, blob: 'sha256:b' }] as Files;
  const again = submissionOf({ requested_spec: { ...PLAIN, files } });
  expect(again).toEqual({ ...PLAIN, libraries: { blob: 'sha256:b' } });
});

test('a repeated build lacks the members that only a run may have', () => {
  const large_outputs = { paths: ['output/product'], stdout: null, max_bytes: 1 };
  const again = submissionOf({ requested_spec: { ...PLAIN, large_outputs, build: { options: ['-O2'] } } });
  const { language, code, files, runtime } = PLAIN;
  expect(again).toEqual({ language, code, files, runtime, build: { options: ['-O2'] } });
});

test('a job whose program or input is missing or withheld is not submitted again', () => {
  const { code: _, ...without } = PLAIN;
  expect(submissionOf({ requested_spec: without })).toBeNull();
  const files = [{ path: 'input/a', blob: 'sha256:b', held: true }] as unknown as Files;
  expect(submissionOf({ requested_spec: { ...PLAIN, files } })).toBeNull();
});
