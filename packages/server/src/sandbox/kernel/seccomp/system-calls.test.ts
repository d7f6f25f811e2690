/** Every system call that the profile allows, made by number in a cell of each class. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CellsFixture, CLASSES } from '../../cell/cells.fixture.ts';
import { type KnownArchitecture, MAKE_EVERY_CALL, SYSTEM_CALL_NUMBERS } from './system-calls.fixture.ts';

let cells: CellsFixture;
beforeAll(async () => {
  cells = await CellsFixture.open();
});
afterAll(() => cells[Symbol.asyncDispose]());

/** The kernel refuses these to processes without privileges, whatever a filter says. */
const PRIVILEGED = ['setgroups'];
/** Calls that kernels no longer have, that fail with ENOSYS for these arguments, or that are newer than some hosts. */
const OLD = 'epoll_ctl_old epoll_wait_old get_thread_area set_thread_area futex';
const NEW = `cachestat fchmodat2 futex_requeue futex_wait futex_wake getxattrat listmount listxattrat map_shadow_stack mseal
  removexattrat setxattrat statmount uretprobe`;
const MISSING = {
  namespace: `${OLD} ${NEW}`,
  gvisor: `${OLD} ${NEW} copy_file_range fanotify_mark futex_waitv ioprio_get ioprio_set landlock_add_rule
    landlock_create_ruleset landlock_restrict_self mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink openat2
    pidfd_open pidfd_send_signal rseq sched_getattr sched_rr_get_interval sched_setattr sched_setparam`,
};

describe.each(CLASSES)('the filter of the %s class', (choice) => {
  it('refuses no allowed call, and reports as missing only calls that the kernel lacks', async () => {
    // Some calls with empty arguments, such as vfork(2), write to stderr. That is not an answer.
    const { stdout, ending } = await cells.run(choice, 'python', MAKE_EVERY_CALL, {
      wall_seconds: 3600,
      cpu_seconds: 3600,
    });
    expect(ending).toEqual({ kind: 'exited', exit_code: 0 });
    const answers = Object.entries(JSON.parse(stdout) as Record<string, string>);
    const others = (wanted: string, known: readonly string[]) =>
      answers.filter(([name, answer]) => answer === wanted && !known.includes(name)).map(([name]) => name);
    expect(answers).toHaveLength(SYSTEM_CALL_NUMBERS[process.arch as KnownArchitecture].size);
    expect(others('EPERM', PRIVILEGED)).toEqual([]);
    expect(others('ENOSYS', MISSING[choice].split(/\s+/))).toEqual([]);
  });
});
