/*
 * Every cell of this launcher, from the request for it until nothing is left of it: it is made, reported when it waits,
 * limited at the hand-over, reported when its program is over, and removed. No function here waits for a cell.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher.h"

enum { REASON_BYTES_MAX = 512 };

struct cell cells[CELLS_MAX];
int cell_count;
static struct report report;

static void open_pipes(struct pipes *pipes)
{
    for (int stream = 0; stream < 3; stream++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe: %m");
        pipes->cells[stream] = ends[stream == 0 ? 0 : 1];
        pipes->services[stream] = ends[stream == 0 ? 1 : 0];
        /* A program of another user opens its own ends again by path, as /dev/stdin. */
        fchmod(ends[0], 0666);
    }
}

static void close_pipes(const struct pipes *pipes)
{
    for (int stream = 0; stream < 3; stream++) close(pipes->cells[stream]), close(pipes->services[stream]);
}

/* In cgroup v2 the process is born in its group. */
static pid_t clone_cell(const struct configuration *configuration, const char *id)
{
    struct clone_args arguments = {
        .flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS,
        .exit_signal = SIGCHLD,
    };
    int group = -1;
    if (configuration->is_group_v2) {
        group = open_group_v2(id);
        if (group < 0) return -1;
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = group;
    }
    pid_t pid = syscall(SYS_clone3, &arguments, sizeof arguments);
    int error = errno;
    if (pid != 0 && group >= 0) close(group);
    errno = error;
    return pid;
}

static void refuse(const struct configuration *configuration, struct cell *cell, const char *reason)
{
    let_go(cell);
    if (cell->pid > 0) {
        kill(cell->pid, SIGKILL);
        cell->refusal = strdup(reason);
        if (cell->refusal == NULL) fail("no memory for a reason");
        return;
    }
    remove_groups(configuration, cell->request.id);
    answer("refused %s %s\n", cell->request.id, reason);
}

/* Says that a cell could not be made, once its process 1 has ended. The kernel may take its time for that. */
static void finish_refusal(const struct configuration *configuration, struct cell *cell)
{
    if (waitpid(cell->pid, NULL, WNOHANG) == 0) return;
    char *reason = cell->refusal;
    cell->pid = 0;
    cell->refusal = NULL;
    refuse(configuration, cell, reason);
    free(reason);
}

int make_cell(const struct configuration *configuration, const struct request *request, const char *accesses)
{
    struct cell cell = { .request = *request };
    struct pipes pipes;
    char reason[REASON_BYTES_MAX];
    int up[2], down[2];
    report.length = 0;
    if (make_groups(configuration, request->id) != 0 || access_groups(request->id, accesses, &report) != 0) {
        snprintf(reason, sizeof reason, "cannot make its groups: %s", strerror(errno));
        refuse(configuration, &cell, reason);
        return 0;
    }
    open_pipes(&pipes);
    if (pipe2(up, O_CLOEXEC | O_NONBLOCK) != 0 || pipe2(down, O_CLOEXEC) != 0) fail("cannot make a pipe: %m");
    cell.pid = clone_cell(configuration, request->id);
    if (cell.pid == 0) return become_cell(configuration, request, &pipes, up[1], down[0]);
    int error = errno;
    close_pipes(&pipes);
    close(up[1]), close(down[0]);
    if (cell.pid < 0) {
        snprintf(reason, sizeof reason, "cannot clone: %s", strerror(error));
        refuse(configuration, &cell, reason);
        close(up[0]), close(down[1]);
        return 0;
    }
    cell.up = up[0], cell.down = down[1];
    cells[cell_count++] = cell;
    return 0;
}

static void tell_made(const struct configuration *configuration, struct cell *cell)
{
    close(cell->down);
    cell->down = -1;
    if (find_waiting(cell, configuration->compiler.count > 0 ? 2 : 1) != 0) {
        close(cell->up);
        cell->up = -1;
        return refuse(configuration, cell, "what waits in it is not what should");
    }
    report.length = 0;
    describe_cell(&report, cell->pid, cell->waiting, cell->waiting_count);
    for (int at = 0; at < configuration->look.count; at++)
        access_groups(cell->request.id, configuration->look.first[at], &report);
    cell->is_made = 1;
    answer_with_report("made", cell, &report);
}

static void tell_end(const struct configuration *configuration, struct cell *cell)
{
    cell->is_over = 1;
    report.length = 0;
    add_section(&report, "ending", "%s", cell->said);
    for (int at = 0; at < configuration->usage.count; at++)
        access_groups(cell->request.id, configuration->usage.first[at], &report);
    answer_with_report("ended", cell, &report);
}

/*
 * Process 1 reported how the program ended: all other processes of the cell are dead then, or the cell is over when
 * process 1 ends.
 */
static void hear_end(const struct configuration *configuration, struct cell *cell)
{
    if (!cell->is_over && is_alone(configuration, cell->request.id)) tell_end(configuration, cell);
    kill(cell->pid, SIGKILL);
}

/* Reads from a cell that is being made: it waits for its mapping, is ready, or reports why it cannot be made. */
static void hear_new(const struct configuration *configuration, struct cell *cell, char *said, ssize_t length)
{
    if (length == 1 && said[0] == 'm') return map_users(cell);
    if (length == 1 && said[0] == 'r') return tell_made(configuration, cell);
    said[strcspn(said, "\n")] = '\0';
    close(cell->up), close(cell->down);
    cell->up = cell->down = -1;
    refuse(configuration, cell, length > 0 ? said : "it ended while it was made");
}

void hear(const struct configuration *configuration, struct cell *cell)
{
    char said[REASON_BYTES_MAX];
    ssize_t length = read(cell->up, said, sizeof said - 1);
    if (length < 0 && errno == EINTR) return;
    if (length < 0) length = 0;
    said[length] = '\0';
    if (!cell->is_made) return hear_new(configuration, cell, said, length);
    if (length > 0 && note(cell, said)) return hear_end(configuration, cell);
    if (length > 0) return;
    close(cell->up);
    cell->up = -1;
}

/* Before a cell counts as ended, its last messages are read. */
void look_for_endings(const struct configuration *configuration)
{
    for (int at = 0; at < cell_count; at++) {
        struct cell *cell = &cells[at];
        siginfo_t ending = { 0 };
        if (!cell->is_made || cell->has_ended) continue;
        if (waitid(P_PID, cell->pid, &ending, WEXITED | WNOHANG | WNOWAIT) != 0 || ending.si_pid != cell->pid) continue;
        cell->has_ended = 1;
        while (cell->up >= 0) hear(configuration, cell);
        if (!cell->is_over) tell_end(configuration, cell);
    }
}

void bury(const struct configuration *configuration)
{
    int kept = 0;
    for (int at = 0; at < cell_count; at++) {
        struct cell *cell = &cells[at];
        if (cell->refusal != NULL) finish_refusal(configuration, cell);
        if (cell->has_ended && cell->is_forgotten) {
            let_go(cell);
            waitpid(cell->pid, NULL, 0);
            answer("gone %s%s\n", cell->request.id, remove_groups(configuration, cell->request.id) == 0 ? "" : " left");
        } else if (cell->pid > 0) cells[kept++] = *cell;
    }
    cell_count = kept;
}

void forget(struct cell *cell)
{
    cell->is_forgotten = 1;
    let_go(cell);
}

void hold(struct cell *cell, const unsigned long *limits, const char *accesses)
{
    report.length = 0;
    if (limit_waiting(cell, limits) != 0 || access_groups(cell->request.id, accesses, &report) != 0) {
        answer("failed %s %d\n", cell->request.id, errno);
        return;
    }
    add_section(&report, "process limits", "%lu %lu %lu\n", cell->held[0], cell->held[1], cell->held[2]);
    forget(cell);
    answer_with_report("held", cell, &report);
}
