/*
 * svc-init FILTER TOOLS COUNT WORD... WORD...
 *
 * Process 1 of a cell that a runtime makes. The first COUNT words are the compiler's command, the others the program's. FILTER is
 * the file of the system call filter that this process sets for itself and its descendants, or `-` if the runtime has set a
 * filter. TOOLS is `tools` if the program gets descriptors 3 and 4, to read the answers of tools and to write calls; else `-`.
 * Only the kernel of a gVisor cell knows anything about the cell, so this process reports to the service what that kernel says.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "launcher.h"

/* If `svc-sentry` started the cell, it waits for a byte on this descriptor: `native/sentry/ending.c`. */
enum { ENDED = 9 };

static struct report report;

static void tell_of(pid_t interpreter)
{
    char status[64], mounts[64], line[64];
    snprintf(status, sizeof status, "/proc/%d/status", interpreter);
    snprintf(mounts, sizeof mounts, "/proc/%d/mountinfo", interpreter);
    add_file(&report, "status", status);
    add_file(&report, "mountinfo", mounts);
    add_file(&report, "/proc/net/dev", "/proc/net/dev");
    add_file(&report, "/proc/version", "/proc/version");
    add_namespaces(&report, interpreter);
    add_section(&report, "no_new_privs", "%d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    must(write_all(STDOUT_FILENO, line, snprintf(line, sizeof line, "ready %zu\n", report.length)), "tell that it waits");
    must(write_all(STDOUT_FILENO, report.text, report.length), "tell that it waits");
}

/* A failure of this write does not matter, because the report states the end. */
static void tell_of_end(void)
{
    (void)!write(ENDED, "e", 1);
}

static void take(struct words *into, char **from, int count)
{
    if (count >= WORDS_MAX) fail("too many words");
    memcpy(into->first, from, count * sizeof *from);
    into->count = count;
}

/* Sets the filter that `svc-filter` wrote. The bundle has already ruled out new privileges. */
static void set_filter(const char *path)
{
    static struct sock_filter instructions[BPF_MAXINSNS];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file < 0 ? -1 : read(file, instructions, sizeof instructions);
    if (bytes <= 0 || bytes % sizeof *instructions != 0) fail("cannot read the filter: %m");
    struct sock_fprog program = { .len = bytes / sizeof *instructions, .filter = instructions };
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) fail("cannot set the filter: %m");
    close(file);
}

/* A runtime passes the descriptors for tools as 3 and 4. They are moved, because a waiting interpreter needs 3 and 4. */
static void take_tools(void)
{
    must(dup2(3, TOOL_ANSWERS), "take the answers of tools"), must(dup2(4, TOOL_CALLS), "take the calls of tools");
    close(3), close(4);
}

int main(int count, char **words, char **environment)
{
    static struct configuration configuration = { .say_ready = tell_of };
    int of_compiler = count < 4 ? -1 : atoi(words[3]), variables = 0;
    if (of_compiler < 0 || 4 + of_compiler >= count) fail("malformed words");
    if (!strcmp(words[2], "tools")) take_tools();
    /* No program inherits this descriptor. */
    if (fcntl(ENDED, F_SETFD, FD_CLOEXEC) == 0) configuration.say_ended = tell_of_end;
    if (strcmp(words[1], "-")) set_filter(words[1]);
    while (environment[variables] != NULL) variables++;
    take(&configuration.compiler, words + 4, of_compiler);
    take(&configuration.arguments, words + 4 + of_compiler, count - 4 - of_compiler);
    take(&configuration.environment, environment, variables);
    run_init(&configuration, EXECUTED);
}
