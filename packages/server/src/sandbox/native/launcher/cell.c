/*
 * Makes one cell from the inside: a process that was cloned into its own namespaces joins its control group, changes to
 * its own root, and gives up its user and its privileges.
 *
 * The mounts are made while the process is still root of the host, and the user namespace comes after them. So no
 * process of the cell can change its mounts, its network or its process ids.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher.h"

/* In cgroup v1, a thread that moves itself by `tasks` need not wait until no thread of the host forks or ends. */
void join_groups(const struct configuration *configuration, const char *id)
{
    for (int at = 0; at < configuration->groups.count && !configuration->is_group_v2; at++) {
        char path[ID_BYTES_MAX + 8];
        snprintf(path, sizeof path, "%s/tasks", id);
        int tasks = openat(GROUPS_FIRST + at, path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
        must(tasks, "open the group %s", path);
        must(write(tasks, "0", 1), "join the group %s", path);
        close(tasks);
    }
}

static void set_limits(const struct configuration *configuration)
{
    for (int at = 0; at < configuration->limits.count; at++) {
        unsigned resource;
        unsigned long value;
        if (sscanf(configuration->limits.first[at], "%u %lu", &resource, &value) != 2) fail("malformed limit");
        struct rlimit limit = { value, value };
        must(setrlimit(resource, &limit), "limit %s", configuration->limits.first[at]);
    }
}

void set_up_kernel(const struct configuration *configuration)
{
    if (configuration->has_loopback) bring_up_loopback();
    must(sethostname("sandbox", 7), "set the host name");
    set_limits(configuration);
}

/* The capabilities that process 1 needs to become the job's user, to limit the interpreter and to end it. */
static const uint64_t OF_PROCESS_ONE =
    BIT(CAP_KILL) | BIT(CAP_SETGID) | BIT(CAP_SETPCAP) | BIT(CAP_SETUID) | BIT(CAP_SYS_RESOURCE);

void become_root_of_cell(void)
{
    must(setgroups(0, NULL), "leave all groups");
    must(setresgid(0, 0, 0), "become group 0");
    must(setresuid(0, 0, 0), "become user 0");
}

/*
 * The kernel counts some objects for each user of the host, and so for all cells of one user together. Each cell gets only a few:
 * these files set the limits of the user namespace that opens them. namespaces(7), /proc/sys/user.
 */
static void bound_own_user(int limits)
{
    static const char *const MAXIMA[][2] = {
        { "max_inotify_instances", "16" }, { "max_inotify_watches", "4096" }, { "max_user_namespaces", "0" },
    };
    for (size_t at = 0; at < sizeof MAXIMA / sizeof *MAXIMA; at++) {
        int file = openat(limits, MAXIMA[at][0], O_WRONLY | O_CLOEXEC);
        must(file, "open %s", MAXIMA[at][0]);
        must(write(file, MAXIMA[at][1], strlen(MAXIMA[at][1])), "write %s", MAXIMA[at][0]);
        close(file);
    }
    close(limits);
}

/*
 * Becomes root of a user namespace whose mapping the launcher writes. On the host this user owns nothing. In a cell of
 * one user this process keeps that user and gets the same capabilities. The program has the same user, but cannot harm
 * this process: the filter refuses the calls for that, and /proc/PID of this process is closed.
 */
static void change_user(const struct configuration *configuration, int limits)
{
    char answer;
    must(unshare(CLONE_NEWUSER), "unshare users");
    must(write(UP, "m", 1), "ask for a mapping");
    if (read(DOWN, &answer, 1) != 1) syscall(SYS_exit_group, 125);
    if (!configuration->has_one_user) return become_root_of_cell();
    if (getuid() != JOB_UID) fail("the users of the cell are not mapped");
    bound_own_user(limits);
    must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "close /proc");
}

/* The cell's ends become 0, 1, 2, 30 and 31. The service opens its own ends, 20 to 22, 28 and 29, through /proc. */
static void place_pipes(enum kind kind, const struct pipes *pipes)
{
    static const int services[] = { SERVICES_ENDS, SERVICES_ENDS + 1, SERVICES_ENDS + 2, SERVICES_TOOLS, SERVICES_TOOLS + 1 };
    static const int cells[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, TOOL_ANSWERS, TOOL_CALLS };
    for (int stream = 0; stream < pipes->count; stream++)
        must(dup2(pipes->services[stream], services[stream]), "keep the service's end");
    if (kind == COPIED) must(dup2(pipes->tell[1], TELL), "keep a pipe"), must(dup2(pipes->hear[0], HEAR), "keep a pipe");
    for (int stream = 0; stream < pipes->count; stream++) must(dup2(pipes->cells[stream], cells[stream]), "take a pipe");
}

void place_descriptors(enum kind kind, const struct pipes *pipes, int up, int down)
{
    must(dup2(up, UP), "keep the way up");
    must(dup2(down, DOWN), "keep the way down");
    failures = UP;
    if (kind != TEMPLATE) place_pipes(kind, pipes);
}

/* The template gets nothing from the service. What it prints goes to the launcher's standard error. */
static void leave_protocol(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    must(nothing, "open /dev/null");
    must(dup2(nothing, STDIN_FILENO), "leave the protocol");
    must(dup2(nothing, STDOUT_FILENO), "leave the protocol");
    close(nothing);
}

void close_others(enum kind kind, int has_tools)
{
    close_range(3, SERVICES_ENDS - 1, 0);
    if (kind == TEMPLATE) close_range(SERVICES_ENDS, UP - 1, 0), close_range(DOWN + 1, ASKED - 1, 0);
    if (kind == EXECUTED) close_range(SERVICES_ENDS + 3, UP - 1, 0); /* FILES is opened later. */
    close_range((kind == TEMPLATE ? LIBRARY : has_tools ? TOOL_CALLS : DOWN) + 1, ~0u, 0);
}

void confine(const struct configuration *configuration, enum kind kind)
{
    keep_capabilities(OF_PROCESS_ONE);
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "set no-new-privileges");
    const struct sock_fprog *filter = kind == TEMPLATE ? &configuration->template_filter : &configuration->filter;
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0), "set the filter");
    run_init(configuration, kind);
}

void become_cell(const struct configuration *configuration, enum kind kind, const struct request *request,
    const struct pipes *pipes, int up, int down)
{
    place_descriptors(kind, pipes, up, down);
    setsid();
    join_groups(configuration, request->id);
    /* The namespace is made now, so that the cell sees its own group as the root of all groups. */
    must(unshare(CLONE_NEWCGROUP), "unshare control groups");
    close_others(kind, request->has_tools);
    prefer_for_killing();
    int limits = configuration->has_one_user ? open("/proc/sys/user", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    make_mounts(configuration, request->root);
    cover_kernel_files(configuration);
    if (kind == TEMPLATE) leave_protocol();
    set_up_kernel(configuration);
    change_user(configuration, limits);
    confine(configuration, kind);
}
