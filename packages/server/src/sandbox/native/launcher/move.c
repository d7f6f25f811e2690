/*
 * In a template: makes a copy of this process that moves into a cell. The copy enters the cell's user namespace, where it has
 * every capability, and then the other namespaces; it drops them all before it goes on. Until then it runs this file and nothing
 * of the interpreter.
 *
 * Two short-lived processes that share this one's memory make the copy, so that the memory is copied only once. The first joins
 * the cell's groups and namespaces. A process namespace holds only children born later: the second is born there, and makes the
 * copy. When the second ends, the copy becomes a child of the cell's process 1.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher.h"

/* copies.c defines the order of the files. */
enum { PIPES = 5, NAMESPACES = 7 };

/* A thread may move itself without further rights, because the launcher opened the files. */
static void join(const int *files, int count)
{
    const int *namespaces = files + PIPES, *groups = namespaces + NAMESPACES;
    for (int at = 0; at < count - PIPES - NAMESPACES; at++) must(write(groups[at], "0", 1), "join a group");
    for (int at = 0; at < NAMESPACES; at++) must(setns(namespaces[at], 0), "enter a namespace");
}

/* Forbids setns(2), the one call that the template's filter allows and the filter of a cell does not. */
static void forbid_moving(void)
{
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setns, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { sizeof instructions / sizeof *instructions, instructions };
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0), "set its filter");
}

/* Registers this thread again for rseq(2). The kernel forgets the registration when memory is shared, but glibc relies on it. */
static void register_sequences(void)
{
    extern const ptrdiff_t __rseq_offset __attribute__((weak));
    extern const unsigned __rseq_size __attribute__((weak));
    enum { BYTES = 32, SIGNATURE = RSEQ_SIG };
    if (&__rseq_size == NULL || __rseq_size == 0) return;
    must(syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset, BYTES, 0, SIGNATURE), "register its sequences");
}

static void place_pipes(const int *files)
{
    for (int at = 0; at < PIPES; at++) must(dup2(files[at], at), "take a pipe");
    close_range(PIPES, ~0u, 0);
}

/* Waits until the pipe ends: both short-lived processes have then ended, and process 1 is the parent. */
static void await_parent(const int *ends)
{
    char byte;
    close(ends[1]);
    while (read(ends[0], &byte, 1) < 0)
        if (errno != EINTR) fail("cannot wait: %m");
}

/* The steps of the copy once it is in the cell. */
static void settle(const int *files, const int *ends)
{
    register_sequences();
    setsid();
    change_executable();
    drop_everything();
    umask(022);
    must(chdir(WORK), "enter " WORK);
    /* Makes /proc/self belong to the job, as exec(2) would. */
    must(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "own its /proc");
    await_parent(ends);
    place_pipes(files);
    forbid_moving();
}

/* Runs in memory that it shares with the template, so it must not return: only the copy returns. */
static void fork_inside(void)
{
    pid_t pid = fork();
    if (pid != 0) _exit(pid < 0);
}

static int wait_for(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return status == 0 ? 0 : -1;
}

int copy_into(const int *files, int count)
{
    pid_t outside = vfork();
    if (outside < 0) return -1;
    if (outside > 0) return wait_for(outside);
    int ends[2];
    must(pipe2(ends, O_CLOEXEC), "make a pipe");
    join(files, count);
    pid_t inside = vfork();
    must(inside, "fork");
    if (inside > 0) _exit(wait_for(inside) != 0);
    fork_inside();
    settle(files, ends);
    return 1;
}
