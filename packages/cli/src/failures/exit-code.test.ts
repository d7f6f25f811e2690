import { TERMINAL_STATUSES } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import { exitCodeOf } from './exit-code.ts';

const ended = { status: 'failed', exit_code: null, signal: null } as const;

test.each([0, 1, 2, 124, 255])('if the program exits with %i, the command exits with the same code', (exit_code) => {
  const status = exit_code === 0 ? 'succeeded' : 'failed';
  expect(exitCodeOf({ status, exit_code, signal: null })).toBe(exit_code);
});

test.each([
  ['SIGABRT', 134],
  ['SIGKILL', 137],
  ['SIGSEGV', 139],
])('if %s ended the program, the command exits with %i, as a shell does', (signal, code) => {
  expect(exitCodeOf({ ...ended, signal })).toBe(code);
});

test('if the program failed without an exit code or a known signal, the command exits with 1', () => {
  expect(exitCodeOf(ended)).toBe(1);
  expect(exitCodeOf({ ...ended, signal: 'SIGTOMORROW' })).toBe(1);
});

test('every terminal status has its own exit code, and only `succeeded` has 0', () => {
  const codes = TERMINAL_STATUSES.map((status) => exitCodeOf({ status, exit_code: null, signal: null }));
  expect(Object.fromEntries(TERMINAL_STATUSES.map((status, at) => [status, codes[at]]))).toEqual({
    succeeded: 0,
    failed: 1,
    timed_out: 124,
    oom_killed: 137,
    cancelled: 130,
    error: 125,
  });
});
