import { describe, expect, test } from 'vitest';
import { argumentsText, policyText, variablesText } from './spec-texts.ts';

const limits = { wall_seconds: 10, cpu_seconds: 2.5, mem_mb: 256, max_pids: 64, max_file_mb: 16 };
const policy = {
  requirements: { minimum_isolation: 'none' },
  limits,
  outputs: ['output/b', 'output/a'],
  runtime: null,
} as const;

test('a policy is the canonical JSON of what a job demands, and keeps the order of the submission’s outputs', () => {
  expect(policyText({ ...policy, outputs: [...policy.outputs] })).toBe(
    '{"allow_network":false,"limits":{"cpu_seconds":2.5,"max_file_mb":16,"max_pids":64,"mem_mb":256,"wall_seconds":10},' +
      '"outputs":["output/b","output/a"],"requirements":{"minimum_isolation":"none"},"runtime":null}',
  );
});

test('a policy does not depend on the program, its input or its language', () => {
  const program = {
    language: 'python',
    code: 'x',
    stdin: 'y',
    files: [{ path: 'input/a', content_base64: '' }],
  } as const;
  const spec = { ...policy, outputs: [...policy.outputs] };
  expect(policyText({ ...spec, ...program, files: [...program.files] })).toBe(policyText(spec));
});

describe('the text of the arguments', () => {
  test('lists the arguments in their order', () => {
    expect(argumentsText({ args: ['b', 'a'] })).toBe('["b","a"]');
    expect(argumentsText({ args: ['b'] })).toBe('["b"]');
  });

  test('is null if the job was given none', () => {
    expect(argumentsText({})).toBeNull();
    expect(argumentsText({ args: [] })).toBeNull();
  });
});

describe('the text of the variables', () => {
  test('orders the variables by name', () => {
    expect(variablesText({ env: { B: '1', A: '2' } })).toBe('{"A":"2","B":"1"}');
    expect(variablesText({ env: { B: '1' } })).toBe('{"B":"1"}');
  });

  test('is null if the job was given none', () => {
    expect(variablesText({})).toBeNull();
    expect(variablesText({ env: {} })).toBeNull();
  });
});
