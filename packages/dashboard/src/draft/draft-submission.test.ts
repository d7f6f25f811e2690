import type { JobSubmission } from '@vouchbox/client';
import { expect, test } from 'vitest';
import { draftOf, submissionOf } from './draft-submission.ts';

test('a submission that is opened for editing is sent as it was, with its libraries', () => {
  const submission: JobSubmission = {
    language: 'python',
    code: 'import wheel',
    stdin: { blob: 'sha256:a' },
    args: ['one', 'two'],
    env: { NAME: 'a=b' },
    files: [{ path: 'input/a', content_base64: 'YQ==' }],
    libraries: { blob: 'sha256:b' },
    outputs: ['output/a'],
    large_outputs: { paths: ['output/b'], stdout: 'output/c' },
    runtime: 'base',
    requirements: { minimum_isolation: 'linux-shared-kernel', enforced: ['mem_mb'] },
    reproducible: true,
    limits: { wall_seconds: 5 },
    tools: [{ name: 'search', description: 'finds', arguments: { type: 'object' } }],
    tool_principals: ['other'],
  };
  expect(submissionOf(draftOf(submission))).toEqual(submission);
  const { libraries: _, ...without } = submission;
  expect(submissionOf(draftOf(without))).toEqual(without);
});
