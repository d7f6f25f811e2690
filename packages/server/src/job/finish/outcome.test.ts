import { expect, test } from 'vitest';
import type { Ending } from '../../sandbox/sandbox.ts';
import { outcomeOf } from './outcome.ts';

test.each<[Ending, string, string, number | null, string | null]>([
  [{ kind: 'exited', exit_code: 0 }, 'succeeded', 'exited', 0, null],
  [{ kind: 'exited', exit_code: 1 }, 'failed', 'exited', 1, null],
  [{ kind: 'exited', exit_code: 137 }, 'failed', 'exited', 137, null],
  [{ kind: 'signaled', signal: 'SIGKILL' }, 'failed', 'signaled', null, 'SIGKILL'],
  [{ kind: 'wall_limit' }, 'timed_out', 'wall_limit', null, null],
  [{ kind: 'cpu_limit' }, 'timed_out', 'cpu_limit', null, null],
  [{ kind: 'memory_limit' }, 'oom_killed', 'memory_limit', null, null],
  [{ kind: 'stopped', cause: 'cancelled' }, 'cancelled', 'cancelled', null, null],
  [{ kind: 'stopped', cause: 'server_shutdown' }, 'error', 'server_shutdown', null, null],
  [{ kind: 'runtime_failed', message: 'gone' }, 'error', 'runtime_failed', null, null],
])(
  'the ending %j is classified as %s, %s',
  { tags: ['States-1a', 'States-1g'] },
  (ending, status, terminal_reason, exit_code, signal) => {
    expect(outcomeOf(ending)).toEqual({ status, terminal_reason, exit_code, signal });
  },
);
