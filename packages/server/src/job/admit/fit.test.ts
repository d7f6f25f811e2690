import { LIMIT_NAMES } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import { ServiceError } from '../../ground/service-error.ts';
import { SPEC } from '../../store/store.fixture.ts';
import { type Executor, fitOf, togetherOf } from './fit.ts';

const SMALL: Executor = {
  languages: ['python', 'bash'],
  runtime_packs: [],
  isolation_class: 'linux-shared-kernel',
  slots: 2,
  concurrentMemMbMax: 2048,
  memMbMax: 256,
  isReady: true,
};
const STRONG: Executor = {
  ...SMALL,
  languages: ['python'],
  isolation_class: 'gvisor-application-kernel',
  memMbMax: 4096,
  isReady: false,
};

const demanding = (minimum_isolation: 'none' | 'gvisor-application-kernel') => ({
  ...SPEC,
  requirements: { minimum_isolation },
});

function refusal(ask: () => unknown): unknown {
  try {
    return ask();
  } catch (error) {
    return error;
  }
}

test('a job is accepted if a node can run it, even if that node is not ready, and gets the memory bound of such a node', () => {
  expect(fitOf(demanding('none'), [SMALL, STRONG])).toEqual({ isReady: true, memMbMax: 4096 });
  expect(fitOf(demanding('gvisor-application-kernel'), [SMALL, STRONG])).toEqual({ isReady: false, memMbMax: 4096 });
  expect(fitOf({ ...SPEC, language: 'bash' }, [STRONG, SMALL])).toEqual({ isReady: true, memMbMax: 256 });
});

test('a job whose demands no single node meets in full is refused with the same error as on a single node', () => {
  const both = { ...demanding('gvisor-application-kernel'), language: 'bash' } as const;
  const error = refusal(() => fitOf(both, [SMALL, STRONG]));
  expect(error).toBeInstanceOf(ServiceError);
  expect(error).toMatchObject({ code: 'minimum_isolation_unsatisfied' });
  expect(refusal(() => fitOf({ ...SPEC, language: 'node' }, [SMALL, STRONG]))).toMatchObject({
    code: 'runtime_unavailable',
    message: expect.stringContaining('it has python, bash') as unknown,
  });
});

test('the common offer of all nodes has every language and pack that any node has, and the strongest isolation class', () => {
  expect(togetherOf([SMALL, STRONG])).toEqual({
    languages: ['python', 'bash'],
    runtime_packs: [],
    isolation_class: 'gvisor-application-kernel',
    enforced: [...LIMIT_NAMES],
  });
});
