/**
 * The system calls a program may make. Everything else is refused with an ordinary error and never with a kill, so that
 * a program that tries something unusual reads `EPERM` instead of dying.
 *
 * Absent on purpose: ptrace and process_vm_*, keyrings, bpf, perf, mount and namespaces, io_uring, memfd, userfaultfd,
 * modules, clocks, quotas, swap, reboot, message queues, aio. Sockets exist only for AF_UNIX.
 */

/** Allowed whatever their arguments are. */
const ALLOWED = `
_llseek accept accept4 access alarm arch_prctl bind brk cachestat capget chdir chmod chown clock_getres
clock_gettime clock_gettime64 clock_nanosleep close close_range connect copy_file_range creat dup dup2 dup3
epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old eventfd
eventfd2 execve execveat exit exit_group faccessat faccessat2 fadvise64 fallocate fanotify_mark fchdir fchmod
fchmodat fchmodat2 fchown fchownat fcntl fcntl64 fdatasync fgetxattr flistxattr flock fork fremovexattr
fsetxattr fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 futex futex_requeue futex_wait
futex_waitv futex_wake futimesat get_robust_list get_thread_area getcpu getcwd getdents getdents64 getegid
geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom getresgid
getresuid getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday getuid getxattr getxattrat
inotify_add_watch inotify_init inotify_init1 inotify_rm_watch ioctl ioprio_get ioprio_set kill landlock_add_rule
landlock_create_ruleset landlock_restrict_self lchown lgetxattr link linkat listen listmount listxattr
listxattrat llistxattr lremovexattr lseek lsetxattr lstat lstat64 madvise map_shadow_stack membarrier mincore
mkdir mkdirat mknod mknodat mlock mlock2 mlockall mmap mmap2 mprotect mremap mseal msgctl msgget msgrcv msgsnd
msync munlock munlockall munmap nanosleep newfstatat open openat openat2 pause pidfd_open pidfd_send_signal pipe
pipe2 poll ppoll prctl pread64 preadv preadv2 prlimit64 pselect6 pwrite64 pwritev pwritev2 read readahead
readlink readlinkat readv recv recvfrom recvmmsg recvmsg removexattr removexattrat rename renameat renameat2
restart_syscall riscv_hwprobe rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity
sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr
sched_setparam sched_setscheduler sched_yield select semctl semget semop semtimedop send sendfile sendfile64
sendmmsg sendmsg sendto set_robust_list set_thread_area set_tid_address setgid setgroups setitimer setpgid
setpriority setregid setresgid setresuid setreuid setrlimit setsid setsockopt setuid setxattr setxattrat shmat
shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4 sigprocmask sigreturn splice stat stat64
statfs statfs64 statmount statx symlink symlinkat sync sync_file_range syncfs sysinfo tee tgkill time
timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64 timer_settime timer_settime64
timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64 times tkill truncate
truncate64 ugetrlimit umask uname unlink unlinkat uretprobe utime utimensat utimes vfork wait4 waitid waitpid
write writev
`;

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const AF_UNIX = 1;
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET: a thread or a child, but no new namespace. */
const CLONE_NEW_NAMESPACES = 0x7e020000;
/** PER_LINUX, and the query that changes nothing. */
const PERSONALITIES = [0, 0xffffffff];

interface Argument {
  readonly index: number;
  readonly value: number;
  readonly valueTwo?: number;
  readonly op: 'SCMP_CMP_EQ' | 'SCMP_CMP_NE' | 'SCMP_CMP_MASKED_EQ';
}

interface Rule {
  readonly names: readonly string[];
  readonly action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO' | 'SCMP_ACT_TRACE';
  readonly errnoRet?: number;
  readonly args?: readonly Argument[];
}

/** `linux.seccomp` of an OCI configuration (OCI runtime specification, config-linux § Seccomp). */
export interface SeccompProfile {
  readonly defaultAction: 'SCMP_ACT_ERRNO';
  readonly defaultErrnoRet?: number;
  readonly architectures: readonly string[];
  readonly syscalls: readonly Rule[];
}

const names = ALLOWED.trim().split(/\s+/);
const allowed: Rule = { names, action: 'SCMP_ACT_ALLOW' };
const personality: readonly Rule[] = PERSONALITIES.map((value) => ({
  names: ['personality'],
  action: 'SCMP_ACT_ALLOW',
  args: [{ index: 0, value, op: 'SCMP_CMP_EQ' }],
}));
/** Both calls that make sockets: a pair of another family loads that family's code into the kernel all the same. */
const SOCKET_CALLS = ['socket', 'socketpair'];
const unixSockets: Rule = {
  names: SOCKET_CALLS,
  action: 'SCMP_ACT_ALLOW',
  args: [{ index: 0, value: AF_UNIX, op: 'SCMP_CMP_EQ' }],
};
const clone: Rule = {
  names: ['clone'],
  action: 'SCMP_ACT_ALLOW',
  args: [{ index: 0, value: CLONE_NEW_NAMESPACES, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
};

/** The one architecture a program may call the kernel in: 32-bit and x32 entry points end with SIGSYS. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'SCMP_ARCH_X86_64', arm64: 'SCMP_ARCH_AARCH64' };

/**
 * The profile for crun and other runtimes on libseccomp.
 * `clone3` answers ENOSYS, because its flags are in memory where a filter cannot see them: libc falls back to `clone`.
 */
export function seccompProfile(architecture: string = process.arch): SeccompProfile {
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: EPERM,
    architectures: architecturesOf(architecture),
    syscalls: [
      allowed,
      ...personality,
      clone,
      unixSockets,
      { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
      {
        names: SOCKET_CALLS,
        action: 'SCMP_ACT_ERRNO',
        errnoRet: EAFNOSUPPORT,
        args: [{ index: 0, value: AF_UNIX, op: 'SCMP_CMP_NE' }],
      },
      { names: ['io_uring_setup', 'io_uring_enter', 'io_uring_register'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
    ],
  };
}

/** Calls that must look as if the kernel were too old for them, because libc then takes another way. */
const RUNSC_UNKNOWN = ['clone3', 'io_uring_setup', 'io_uring_enter', 'io_uring_register'];

/**
 * The profile for runsc, which applies it inside its own kernel. It takes one rule a call and knows no errno but EPERM;
 * ENOSYS is what seccomp(2) answers to a traced call that nobody traces.
 */
export function runscSeccompProfile(architecture: string = process.arch): SeccompProfile {
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    architectures: architecturesOf(architecture),
    syscalls: [allowed, ...personality, clone, unixSockets, { names: RUNSC_UNKNOWN, action: 'SCMP_ACT_TRACE' }],
  };
}

function architecturesOf(architecture: string): readonly string[] {
  const name = ARCHITECTURES[architecture];
  if (name === undefined) throw new Error(`no system call profile for ${architecture}`);
  return [name];
}
