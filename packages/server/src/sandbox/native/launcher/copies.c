/*
 * The launcher's side of its template: it makes the template's cell, and asks the template for the interpreters of
 * other cells. The template gets only descriptors: no id, no path, nothing that distinguishes cells.
 *
 * A copy moves into its cell's namespaces. It may do so because the template's user made the cell's user namespace
 * below the template's own (user_namespaces(7)). The copy has capabilities only there, until it drops them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher.h"

int template_socket = -1, template_users = -1;
static struct cell template;
/* How many requests were sent to the template, and how many of them it has answered. It answers in the order of the requests. */
static unsigned long asked, answered;

/* The first, the user namespace, gives a copy the right to enter the others. */
static const char *const NAMESPACES[] = { "user", "mnt", "net", "ipc", "uts", "pid", "cgroup" };

uid_t root_of_template(void)
{
    return template.request.root;
}

static int open_namespace(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static int open_group(const struct configuration *configuration, int number, const char *id)
{
    char path[ID_BYTES_MAX + 16];
    snprintf(path, sizeof path, "%s/%s", id, configuration->is_group_v2 ? "cgroup.procs" : "tasks");
    return openat(GROUPS_FIRST + number, path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
}

/* Opens what a copy needs besides its pipes, in the order in which move.c takes them: its namespaces, its groups. */
static int open_for_copy(const struct configuration *configuration, struct cell *cell)
{
    int wanted = sizeof NAMESPACES / sizeof *NAMESPACES + configuration->groups.count;
    for (int at = 0; at < wanted; at++) {
        int group = at - (int)(sizeof NAMESPACES / sizeof *NAMESPACES);
        int file = group < 0 ? open_namespace(cell->pid, NAMESPACES[at]) : open_group(configuration, group, cell->request.id);
        if (file < 0) return -1;
        cell->copy[cell->copy_files++] = file;
    }
    return 0;
}

static int send_files(const struct cell *cell)
{
    char control[CMSG_SPACE(sizeof cell->copy)] = { 0 };
    struct iovec part = { "c", 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
        .msg_controllen = CMSG_SPACE(cell->copy_files * sizeof *cell->copy) };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(cell->copy_files * sizeof *cell->copy);
    memcpy(CMSG_DATA(header), cell->copy, cell->copy_files * sizeof *cell->copy);
    return sendmsg(template_socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -1;
}

void ask_for_copy(const struct configuration *configuration, struct cell *cell)
{
    if (open_for_copy(configuration, cell) != 0 || send_files(cell) != 0) {
        char reason[REASON_BYTES_MAX];
        snprintf(reason, sizeof reason, "cannot ask the template: %s", strerror(errno));
        return refuse(configuration, cell, reason);
    }
    while (cell->copy_files > 0) close(cell->copy[--cell->copy_files]);
    cell->asked = ++asked;
}

int owes_copy(void)
{
    return asked != answered;
}

void hear_template(const struct configuration *configuration)
{
    char said;
    ssize_t length = recv(template_socket, &said, 1, MSG_DONTWAIT);
    if (length < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (length != 1 || answered == asked) fail("the template ended");
    answered++;
    for (int at = 0; at < cell_count; at++) {
        struct cell *cell = &cells[at];
        if (cell->is_gone || cell->refusal != NULL || cell->asked != answered) continue;
        cell->asked = 0;
        if (said == 'd') tell_if_made(configuration, cell);
        else refuse(configuration, cell, "the template could not make a copy");
    }
}

/* Reads from the template's process 1 until the template is up. What the template prints is for the operator. */
static void await_template(const struct configuration *configuration)
{
    char said[REASON_BYTES_MAX];
    for (;;) {
        struct pollfd waits[] = { { .fd = template.up, .events = POLLIN }, { .fd = template_socket, .events = POLLIN } };
        if (poll(waits, 2, -1) < 0 && errno != EINTR) fail("cannot wait: %m");
        if (waits[0].revents != 0) {
            ssize_t length = read(template.up, said, sizeof said - 1);
            said[length > 0 ? length : 0] = '\0';
            if (length == 1 && said[0] == 'm') map_users(configuration, &template);
            else if (length > 0) fail("the template cannot be started: %.*s", (int)strcspn(said, "\n"), said);
            /* The template is executed now: its next message comes from the template itself. */
            else close(template.up), template.up = -1;
        } else if (waits[1].revents != 0) {
            if (recv(template_socket, said, 1, 0) == 1 && said[0] == 'u') return;
            fail("the template ended before it was up");
        }
    }
}

/* From now on, children of this process are in the template's process namespace: cells make their own below it. */
static void enter_template(void)
{
    int processes = open_namespace(template.pid, "pid");
    template_users = open_namespace(template.pid, "user");
    if (template_users < 0 || processes < 0 || setns(processes, CLONE_NEWPID) != 0) fail("cannot enter the template: %m");
    close(processes);
}

void make_template(const struct configuration *configuration)
{
    struct pipes none = { 0 };
    struct report *nothing = forgotten_memory(sizeof *nothing);
    int up[2], down[2], ends[2], length = 0;
    template = (struct cell){ .kind = TEMPLATE, .up = -1, .down = -1 };
    if (sscanf(configuration->template_cell, "%63[0-9a-f-] %u%n", template.request.id, &template.request.root, &length) != 2)
        fail("the configuration has a malformed template");
    if (make_groups(configuration, template.request.id) != 0 ||
        access_groups(template.request.id, configuration->template_cell + length, nothing) != 0)
        fail("cannot make the groups of the template: %m");
    if (pipe2(up, O_CLOEXEC) != 0 || pipe2(down, O_CLOEXEC) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        fail("cannot connect the template: %m");
    if (dup2(ends[1], ASKED) < 0) fail("cannot keep a descriptor: %m");
    template.pid = clone_cell(configuration, TEMPLATE, template.request.id);
    if (template.pid == 0) become_cell(configuration, TEMPLATE, &template.request, &none, up[1], down[0]);
    if (template.pid < 0) fail("cannot clone the template: %m");
    close(up[1]), close(down[0]), close(ends[1]), close(ASKED), close(LIBRARY);
    template.up = up[0], template.down = down[1], template_socket = ends[0];
    await_template(configuration);
    if (template.up >= 0) close(template.up);
    close(template.down);
    enter_template();
}

void end_with_template(const struct configuration *configuration)
{
    if (template.pid > 0) {
        /* All cells end with the template's process namespace. It ends only after each cell was waited for. */
        kill(template.pid, SIGKILL);
        while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) {}
        remove_groups(configuration, template.request.id);
    }
    syscall(SYS_exit_group, 0);
    __builtin_unreachable();
}
