import type { JobSubmission } from '@vouchbox/client';
import { JobSubmission as JobSubmissionForm } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import { draftOf, submissionOf } from './draft-submission.ts';

/** A submission with every member. A new member needs a field in the draft; otherwise it is among the draft's `others`. */
const EVERYTHING: Required<JobSubmission> = {
  language: 'python',
  code: 'import wheel',
  stdin: { blob: 'sha256:a' },
  args: ['one', '', 'two\nlines', '"quoted"', 'a "quoted" word', '"', ' '],
  env: { NAME: 'a=b', EMPTY: '', PEM: '-----BEGIN-----\r\nAA==\n-----END-----\n', QUOTED: '"x"', NUMBER: '1' },
  files: [{ path: 'input/a', content_base64: 'YQ==' }],
  libraries: { blob: 'sha256:b' },
  outputs: ['output/a', 'output/"b"'],
  large_outputs: { paths: ['output/b'], stdout: 'output/c', max_bytes: 5 },
  product: { job_id: 'job_1' },
  build: { options: ['-O2'] },
  interactor: { language: 'bash', code: 'cat' },
  runtime: 'base',
  requirements: { minimum_isolation: 'linux-shared-kernel', enforced: ['mem_mb'] },
  reproducible: true,
  limits: { wall_seconds: 5, cpu_seconds: 4, mem_mb: 300, max_pids: 2, max_file_mb: 1 },
  tools: [{ name: 'search', description: 'finds', arguments: { type: 'object' } }],
  tool_limits: { calls: 3 },
  tool_principals: ['other'],
  session: { name: 'shown', after: null },
  labels: ['shown', 'two words'],
  sign_labels: true,
  promise: true,
};

test('a submission keeps every member if it is opened for editing and sent unchanged', () => {
  expect(Object.keys(EVERYTHING).toSorted()).toEqual(Object.keys(JobSubmissionForm.properties).toSorted());
  expect(submissionOf(draftOf(EVERYTHING))).toEqual(EVERYTHING);
  const smallest = { language: 'python', code: 'pass' };
  expect(submissionOf(draftOf(smallest))).toEqual(smallest);
  expect(submissionOf(draftOf({ ...smallest, stdin: '' }))).toEqual({ ...smallest, stdin: '' });
});

test('the members about tools are not sent if no tool is left in a submission', () => {
  const { tools: _, tool_limits: _limits, tool_principals: _principals, ...without } = EVERYTHING;
  expect(submissionOf({ ...draftOf(EVERYTHING), tools: [] })).toEqual(without);
});

test('a quotation mark that begins no JSON string is an ordinary character', () => {
  const typed = {
    ...draftOf({ language: 'bash', code: '' }),
    args: '"a" b\n"open\n"a\\u0062"',
    env: 'A="b c"\nB="\nC',
  };
  expect(submissionOf(typed)).toMatchObject({ args: ['"a" b', '"open', 'ab'], env: { A: 'b c', B: '"', C: '' } });
});
