import { LIMIT_DEFAULTS } from '@vouchbox/protocol';
import { describe, expect, it } from 'vitest';
import { NO_LIMITS_HELD } from '../sandbox.ts';
import { type EndingFacts, endingOf, parseWaitStatus, violationsOf } from './ending.ts';

const exited: EndingFacts = {
  stopCause: null,
  breach: null,
  oomKills: 0,
  status: { exitCode: 0 },
  isCompiling: false,
  hasProduct: false,
  hasToolBreach: false,
  isCpuTimeUsedUp: false,
  diagnostics: '',
};
const signaled = (signal: string, isCpuTimeUsedUp: boolean): Partial<EndingFacts> => ({
  status: { signal },
  isCpuTimeUsedUp,
});
const outOfTime = (exitCode: number): Partial<EndingFacts> => ({
  status: { exitCode },
  isCompiling: true,
  isCpuTimeUsedUp: true,
});
const counters = {
  wallMilliseconds: 1234.5678,
  cpuMilliseconds: 987.6543,
  processesRefused: 0,
  callsOpen: 0,
  hasFullFile: false,
};

describe('how a program ended', () => {
  it.each<[string, Partial<EndingFacts>, string]>([
    ['a memory kill outranks everything, even a parent that exits 0', { oomKills: 1 }, 'memory_limit'],
    ['a memory kill outranks a limit that was reached after it', { oomKills: 1, breach: 'wall_limit' }, 'memory_limit'],
    ['a memory kill outranks a cancellation', { oomKills: 1, stopCause: 'cancelled' }, 'memory_limit'],
    ['a limit outranks what process 1 reports', { breach: 'cpu_limit' }, 'cpu_limit'],
    ['a stop outranks what process 1 reports', { stopCause: 'server_shutdown' }, 'stopped'],
    ['a program that passed a bound of its tools was killed for it', { hasToolBreach: true, status: null }, 'signaled'],
    ['an end that nobody saw is a failure of the runtime', { status: null }, 'runtime_failed'],
    ['a process that the kernel ended for its CPU time met the CPU limit', signaled('SIGXCPU', true), 'cpu_limit'],
    ['a program that sends itself SIGXCPU with time to spare reached no limit', signaled('SIGXCPU', false), 'signaled'],
    ['a process that ignored SIGXCPU and was killed met the CPU limit', signaled('SIGKILL', true), 'cpu_limit'],
    ['a program that kills itself with time to spare reached no limit', signaled('SIGKILL', false), 'signaled'],
    ['any other signal came from the program, whatever time was used', signaled('SIGTERM', true), 'signaled'],
    ['a compiler that fails when its CPU time is used up met the limit', outOfTime(1), 'cpu_limit'],
    [
      'a compiler that fails with time to spare found an error',
      { ...outOfTime(1), isCpuTimeUsedUp: false },
      'compile_failed',
    ],
    ['a build that left its product has succeeded', { ...outOfTime(0), hasProduct: true }, 'exited'],
    [
      'a build that left no product has failed, whatever its exit code',
      { ...outOfTime(0), isCpuTimeUsedUp: false },
      'compile_failed',
    ],
    ['an exit code of 137 is an exit code', { status: { exitCode: 137 } }, 'exited'],
  ])('%s', (_, facts, kind) => {
    expect(endingOf({ ...exited, ...facts }).kind).toBe(kind);
  });
});

describe('the report of process 1 in a cell', () => {
  it.each([
    ['exited 0\n', { exitCode: 0 }],
    ['exited 255\n', { exitCode: 255 }],
    ['signaled 6\n', { signal: 'SIGABRT' }],
    ['signaled 29\n', { signal: 'SIGIO' }],
    ['signaled 34\n', { signal: 'SIG34' }],
    ['', null],
    ['exited\n', null],
    ['exited 0', null],
    ['exited 0\nexited 1\n', null],
  ])('%j is read as %j', (report, status) => {
    expect(parseWaitStatus(report)).toEqual(status);
  });
});

it('every limit that ended a program is a violation with the limit and the observed value', {
  tags: ['Events-4e'],
}, () => {
  const violations = (['wall_limit', 'cpu_limit', 'memory_limit'] as const).flatMap((kind) =>
    violationsOf({ kind }, counters, LIMIT_DEFAULTS),
  );
  expect(violations.map(({ type, limit, observed }) => ({ type, limit, observed }))).toEqual([
    { type: 'wall_time', limit: 10, observed: 1.235 },
    { type: 'cpu_time', limit: 5, observed: 0.988 },
    { type: 'memory', limit: 256, observed: undefined },
  ]);
});

it.each([
  ['a program that was ended for the size of a file', 'signaled', false, 'a file grew past 16 MiB'],
  ['a program that was ended for the size of a file, and left it', 'signaled', true, 'a file grew past 16 MiB'],
  ['a full file that was left', 'exited', true, 'a file reached 16 MiB, the most that one may hold'],
] as const)('%s gives one violation, which says that a file reached its limit', (_, kind, hasFullFile, message) => {
  const ending = kind === 'signaled' ? { kind, signal: 'SIGXFSZ' } : { kind, exit_code: 0 };
  expect(violationsOf(ending, { ...counters, hasFullFile }, LIMIT_DEFAULTS)).toEqual([
    { type: 'file_size', message, limit: 16 },
  ]);
});

it('a limit that was not in force is not a violation', () => {
  const { effective_limits } = NO_LIMITS_HELD;
  const refused = { ...counters, processesRefused: 3, hasFullFile: true };
  for (const kind of ['wall_limit', 'cpu_limit'] as const) {
    expect(violationsOf({ kind }, refused, effective_limits)).toEqual([]);
  }
  expect(violationsOf({ kind: 'signaled', signal: 'SIGXFSZ' }, counters, effective_limits)).toEqual([]);
});

it('a watched memory limit that ended a program is a violation that says so', () => {
  expect(violationsOf({ kind: 'memory_limit' }, counters, NO_LIMITS_HELD.effective_limits)).toEqual([
    { type: 'memory', message: expect.stringContaining('it is only watched') },
  ]);
});

it('a process that the kernel refused to make is a violation, however the program ended', () => {
  const refused = { ...counters, processesRefused: 3 };
  expect(violationsOf({ kind: 'exited', exit_code: 0 }, refused, LIMIT_DEFAULTS)).toMatchObject([
    { type: 'pids', limit: 64 },
  ]);
});
