import { LIMIT_CEILINGS, LIMIT_DEFAULTS, type RequestedSpec } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { checkPolicy, clampLimits, type ProviderFacts } from './policy.ts';

const provider: ProviderFacts = {
  isolation_class: 'linux-shared-kernel',
  languages: ['python', 'bash'],
  runtime_packs: [{ name: 'data', version: '1', languages: ['python'], digest: 'd' }],
};

function spec(members: Partial<RequestedSpec>): RequestedSpec {
  return {
    language: 'python',
    code: 'x',
    stdin: null,
    files: [],
    args: [],
    env: {},
    outputs: [],
    runtime: null,
    requirements: { minimum_isolation: 'none' },
    limits: LIMIT_DEFAULTS,
    ...members,
  };
}

describe('policy', () => {
  test('a demand that a limit be enforced is refused if the host only watches that limit', () => {
    const demanded = spec({ requirements: { minimum_isolation: 'none', enforced: ['cpu_seconds', 'mem_mb'] } });
    const watched: ProviderFacts = {
      ...provider,
      enforced: ['wall_seconds', 'cpu_seconds', 'max_pids', 'max_file_mb'],
    };
    expect(() => checkPolicy(demanded, watched)).toThrow(
      expect.objectContaining({
        code: 'enforcement_unsatisfied',
        message: expect.stringContaining('mem_mb must be held'),
      }),
    );
    expect(() => checkPolicy(demanded, provider)).not.toThrow();
    expect(() => checkPolicy(demanded, { ...provider, isolation_class: 'none' })).toThrow(/cpu_seconds, mem_mb must/);
  });

  test('limits above a ceiling are lowered to it, and no limit is raised', () => {
    const asked = { wall_seconds: 1e308, cpu_seconds: 0.001, mem_mb: 1025, max_pids: 256, max_file_mb: 63 };
    expect(clampLimits(asked, LIMIT_CEILINGS)).toEqual({
      wall_seconds: 300,
      cpu_seconds: 0.001,
      mem_mb: 1024,
      max_pids: 256,
      max_file_mb: 63,
    });
  });

  test('a default over a ceiling is clamped like any other value', () => {
    expect(clampLimits(LIMIT_DEFAULTS, { ...LIMIT_CEILINGS, mem_mb: 128 }).mem_mb).toBe(128);
  });

  test('a known language is unavailable if it did not pass the preflight', { tags: ['Submission-12'] }, () => {
    expect(() => checkPolicy(spec({ language: 'bash' }), provider)).not.toThrow();
    expect(() => checkPolicy(spec({ language: 'node' }), provider)).toThrow(
      expect.objectContaining({
        code: 'runtime_unavailable',
        message: '/language node is not available on this service; it has python, bash',
      }),
    );
  });

  test('a pack is accepted only with its own languages', { tags: ['Submission-12'] }, () => {
    expect(() => checkPolicy(spec({ runtime: 'data' }), provider)).not.toThrow();
    for (const members of [{ runtime: 'data', language: 'bash' }, { runtime: 'none-such' }] as const) {
      expect(() => checkPolicy(spec(members), provider)).toThrow(
        expect.objectContaining({ code: 'runtime_unavailable' }),
      );
    }
  });

  test.each(['none', 'linux-shared-kernel'] as const)(
    'a minimum of %s is satisfied by linux-shared-kernel',
    (minimum) => {
      expect(() => checkPolicy(spec({ requirements: { minimum_isolation: minimum } }), provider)).not.toThrow();
    },
  );

  test.each(['gvisor-application-kernel', 'hardware-vm', 'confidential-vm', 'wasm-capability'] as const)(
    'a minimum of %s is not satisfied by linux-shared-kernel',
    (minimum) => {
      expect(() => checkPolicy(spec({ requirements: { minimum_isolation: minimum } }), provider)).toThrow(
        expect.objectContaining({ code: 'minimum_isolation_unsatisfied' }),
      );
    },
  );
});
