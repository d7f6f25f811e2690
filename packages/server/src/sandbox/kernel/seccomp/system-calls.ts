/**
 * Which system calls a program may make, by their names on x86-64 and arm64.
 *
 * Refused on purpose: ptrace and process_vm_*, keyrings, bpf, perf, mount and namespaces, userfaultfd, modules, clocks,
 * quotas, swap, reboot, aio, protection keys. io_uring and the calls that make processes and sockets have separate
 * rules.
 */

/** Allowed with any arguments. */
export const ALLOWED_CALLS: readonly string[] = words(`
accept accept4 access alarm arch_prctl bind brk cachestat capget chdir chmod chown clock_getres clock_gettime
clock_nanosleep close close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1
epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old eventfd eventfd2 execve execveat exit
exit_group faccessat faccessat2 fadvise64 fallocate fanotify_mark fchdir fchmod fchmodat fchmodat2 fchown
fchownat fcntl fdatasync fgetxattr flistxattr flock fork fremovexattr fsetxattr fstat fstatfs fsync ftruncate
futex futex_requeue futex_wait futex_waitv futex_wake futimesat get_robust_list get_thread_area getcpu getcwd
getdents getdents64 getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getppid
getpriority getrandom getresgid getresuid getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday
getuid getxattr getxattrat inotify_add_watch inotify_init inotify_init1 inotify_rm_watch ioctl ioprio_get
ioprio_set kill landlock_add_rule landlock_create_ruleset landlock_restrict_self lchown lgetxattr link linkat
listen listmount listxattr listxattrat llistxattr lremovexattr lseek lsetxattr lstat madvise map_shadow_stack
membarrier memfd_create mincore mkdir mkdirat mknod mknodat mlock mlock2 mlockall mmap mprotect mq_getsetattr
mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink mremap mseal msgctl msgget msgrcv msgsnd msync munlock
munlockall munmap nanosleep newfstatat open openat openat2 pause pidfd_open pidfd_send_signal pipe pipe2 poll
ppoll prctl pread64 preadv preadv2 prlimit64 pselect6 pwrite64 pwritev pwritev2 read readahead readlink
readlinkat readv recvfrom recvmmsg recvmsg removexattr removexattrat rename renameat renameat2 restart_syscall
rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler
sched_yield select semctl semget semop semtimedop sendfile sendmmsg sendmsg sendto set_robust_list
set_thread_area set_tid_address setgid setgroups setitimer setpgid setpriority setregid setresgid setresuid
setreuid setrlimit setsid setsockopt setuid setxattr setxattrat shmat shmctl shmdt shmget shutdown sigaltstack
signalfd signalfd4 splice stat statfs statmount statx symlink symlinkat sync sync_file_range syncfs sysinfo tee
tgkill time timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create
timerfd_gettime timerfd_settime times tkill truncate umask uname unlink unlinkat uretprobe utime utimensat
utimes vfork wait4 waitid write writev
`);

/** Refused with EPERM: they exist, but are not for programs. A call in neither list counts as unknown. */
export const REFUSED_CALLS: readonly string[] = words(`
_sysctl acct add_key adjtimex afs_syscall bpf capset chroot clock_adjtime clock_settime create_module
delete_module fanotify_init finit_module fsconfig fsmount fsopen fspick get_kernel_syms get_mempolicy getpmsg
init_module io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit ioperm iopl kcmp kexec_file_load
kexec_load keyctl lookup_dcookie mbind memfd_secret migrate_pages modify_ldt mount mount_setattr move_mount
move_pages name_to_handle_at nfsservctl open_by_handle_at open_tree perf_event_open pidfd_getfd pivot_root
pkey_alloc pkey_free pkey_mprotect process_madvise process_mrelease process_vm_readv process_vm_writev ptrace
putpmsg query_module quotactl quotactl_fd reboot remap_file_pages request_key seccomp security set_mempolicy
set_mempolicy_home_node setdomainname setfsgid setfsuid sethostname setns settimeofday swapoff swapon sysfs
syslog tuxcall umount2 unshare uselib userfaultfd ustat vhangup vmsplice vserver
`);

/** Answered with ENOSYS, as if the kernel were too old for them, because libc and libuv then fall back to other calls. */
export const UNKNOWN_CALLS: readonly string[] = ['clone3', 'io_uring_setup', 'io_uring_enter', 'io_uring_register'];

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
