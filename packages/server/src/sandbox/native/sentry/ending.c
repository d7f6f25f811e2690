/*
 * How a cell ends. Process 1 ends all other processes of the cell before it reports how the program ended, so the kernel and the
 * file server are no longer needed then. They are killed: this takes a third of the time that the kernel needs to end by itself,
 * file by file and connection by connection.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sentry.h"

/* The report's path below the bundle. Only process 1 writes to it; `native/launcher/init.c` describes the content. */
static const char REPORT[] = "cell/report/ending";

/* Whether the report states an end, and not that the program is being compiled or runs. */
static int has_ended(void)
{
    char text[REPORT_BYTES + 1] = "", how[16];
    int number, file = open(REPORT, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return 0;
    ssize_t count = read(file, text, REPORT_BYTES);
    close(file);
    if (count != REPORT_BYTES || text[count - 1] != '\n') return 0;
    const char *status = strncmp(text, "compiler ", 9) ? text : text + 9;
    return sscanf(status, "%15s %d", how, &number) == 2 && (!strcmp(how, "exited") || !strcmp(how, "signaled"));
}

/* A program may hold the other end, so a byte proves nothing: it only means that the report should be read. */
static void forget(int word)
{
    char words[4096];
    while (read(word, words, sizeof words) > 0) {}
}

static void end(pid_t pid)
{
    if (pid > 0) kill(pid, SIGKILL);
}

/* Reaps processes that have ended. If the gofer failed, the kernel no longer has files, and is ended, too. */
static void reap(pid_t *kernel, pid_t *gofer, int *of_kernel)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == *kernel) *kernel = 0, *of_kernel = status, end(*gofer);
        else if (pid == *gofer) {
            *gofer = 0;
            if (status != 0) end(*kernel);
        }
    }
    if (pid < 0 && errno != EINTR && errno != ECHILD) fail("waitpid: %m");
}

static int descriptor_of(pid_t pid)
{
    int descriptor = syscall(SYS_pidfd_open, pid, 0);
    must(descriptor, "watch a process");
    return descriptor;
}

/* Waits until the kernel and the gofer are dead. Returns 0 if the report stated an end, else the kernel's exit code. */
int wait_for_both(pid_t kernel, pid_t gofer, int word)
{
    struct pollfd heard[] = {
        { .fd = word, .events = POLLIN },
        { .fd = descriptor_of(kernel), .events = POLLIN },
        { .fd = descriptor_of(gofer), .events = POLLIN },
    };
    int of_kernel = 0, is_told = 0;
    while (kernel > 0 || gofer > 0) {
        if (poll(heard, 3, -1) < 0 && errno != EINTR) fail("poll: %m");
        if (heard[0].revents != 0) {
            forget(word);
            is_told = has_ended();
            if (is_told) end(kernel), end(gofer);
        }
        reap(&kernel, &gofer, &of_kernel);
        /* poll(2) ignores a descriptor below 0. */
        if (is_told || heard[0].revents & POLLHUP) heard[0].fd = -1;
        if (kernel == 0) heard[1].fd = -1;
        if (gofer == 0) heard[2].fd = -1;
    }
    if (is_told) return 0;
    return WIFEXITED(of_kernel) ? WEXITSTATUS(of_kernel) : 128 + WTERMSIG(of_kernel);
}
