/*
 * A process in its own namespaces and user mapping. It gives up unneeded privileges before it executes runsc, which
 * then only sets its own system call filter.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sentry.h"

void add_word(struct command *command, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (command->count == WORDS_MAX - 1) fail("a command has too many words");
    if (vasprintf(&command->words[command->count++], format, values) < 0) fail("no memory for a command");
    va_end(values);
}

/* Root and the job's user are the only users that exist in the namespace. */
static void map_users(pid_t pid, uid_t root)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/setgroups", pid);
    write_file(path, "deny");
    must(map_cell(-1, pid, root, root + 1, ""), "map users");
}

/*
 * runsc itself may not unmount anything, so a child that may do so waits for runsc's request. The child is in the same
 * process group.
 */
static int unmount_when_told(void)
{
    int word[2];
    must(pipe2(word, O_CLOEXEC), "make a pipe");
    pid_t pid = fork();
    must(pid, "fork");
    if (pid == 0) {
        char byte;
        must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "end with the parent");
        close_range(0, word[0] - 1, 0), close_range(word[0] + 1, ~0u, 0);
        syscall(SYS_exit_group, read(word[0], &byte, 1) == 1 && umount2("/proc", MNT_DETACH) == 0 ? 0 : 1);
    }
    close(word[0]);
    return word[1];
}

static void keep_open(int descriptor)
{
    must(fcntl(descriptor, F_SETFD, 0), "keep a descriptor");
}

static void become(const struct cell *cell, struct making *making, int mapped)
{
    char byte;
    char *environment[] = { NULL };
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC), cell_error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    must(nothing, "open /dev/null"), must(cell_error, "keep standard error");
    must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "end with the parent");
    if (read(mapped, &byte, 1) != 1) syscall(SYS_exit_group, 125);
    must(setresgid(0, 0, 0), "become group 0");
    must(setresuid(0, 0, 0), "become user 0");
    must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "end with the parent"); /* The change of the user has cleared this. */
    must(setsid(), "setsid");
    making->enter_root(cell);
    making->unmounted = unmount_when_told();
    keep_open(making->unmounted);
    /* These words were not known earlier. */
    add_word(&making->command, "--proc-mount-sync-fd=%d", making->unmounted);
    add_word(&making->command, "%s", cell->id);
    making->command.words[making->command.count] = NULL;
    keep_capabilities(making->capabilities);
    for (int stream = 0; stream < 3; stream++) must(dup2(nothing, stream), "take a descriptor");
    syscall(SYS_execveat, making->executable, "", making->command.words, environment, AT_EMPTY_PATH);
    int error = errno;
    dup2(cell_error, STDERR_FILENO);
    errno = error;
    fail("cannot start runsc: %m");
}

pid_t start(const struct cell *cell, struct making *making)
{
    int mapped[2];
    must(pipe2(mapped, O_CLOEXEC), "make a pipe");
    pid_t pid = syscall(SYS_clone, making->namespaces | CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
    must(pid, "clone");
    if (pid == 0) {
        close(mapped[1]);
        become(cell, making, mapped[0]);
    }
    close(mapped[0]);
    map_users(pid, cell->root);
    must(write(mapped[1], "m", 1), "tell of the mapping");
    close(mapped[1]);
    return pid;
}
