import { LIMIT_DEFAULTS } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import type { JobRow } from '../records/rows.ts';
import { wholeSpec } from './whole-spec.ts';

const row = { language: 'bash', runtime: null } as JobRow;

test('a migrated job gets default values for members that were not recorded, and keeps the recorded values', () => {
  expect(wholeSpec({ ...row, requested_spec: { code: 'true', limits: { mem_mb: 128 } } })).toEqual({
    language: 'bash',
    code: 'true',
    stdin: null,
    files: [],
    args: [],
    env: {},
    outputs: [],
    runtime: null,
    requirements: { minimum_isolation: 'none' },
    limits: { ...LIMIT_DEFAULTS, mem_mb: 128 },
  });
});

test('a row without a program cannot be run', () => {
  expect(() => wholeSpec({ ...row, requested_spec: {} })).toThrow('no program');
});
