/*
 * The life of every cell of this launcher, from its request until nothing of it is left: it is made, reported when it waits,
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
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher.h"

struct cell *cells;
int cell_count;
static struct report *report;

void *forgotten_memory(size_t length)
{
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, length, MADV_WIPEONFORK) != 0) fail("cannot get memory: %m");
    return memory;
}

/* Keeps the launcher's descriptors away from the numbers that a cell's descriptors get. */
static void keep_numbers_free(void)
{
    for (int number = SERVICES_ENDS; number <= TOOL_CALLS; number++)
        if (dup3(STDIN_FILENO, number, O_CLOEXEC) < 0) fail("cannot keep a descriptor: %m");
}

void prepare_cells(void)
{
    cells = forgotten_memory(CELLS_MAX * sizeof *cells);
    report = forgotten_memory(sizeof *report);
    keep_numbers_free();
}

static void open_pipe(int *ends)
{
    if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe: %m");
}

static void open_pipes(struct pipes *pipes, enum kind kind, int has_tools)
{
    pipes->count = has_tools ? 5 : 3;
    for (int stream = 0; stream < pipes->count; stream++) {
        int ends[2], is_read = stream == 0 || stream == 3;
        open_pipe(ends);
        pipes->cells[stream] = ends[!is_read];
        pipes->services[stream] = ends[is_read];
        /* The program has another user, and may open its ends by path: /dev/stdin or, in Java, the pipes for tools. */
        fchmod(ends[0], 0666);
    }
    if (kind == COPIED) open_pipe(pipes->tell), open_pipe(pipes->hear);
}

/* Closes the pipes in the launcher. In a copy's cell, the ends for the copy stay open until the copy has them. */
static void close_pipes(const struct pipes *pipes, enum kind kind)
{
    for (int stream = 0; stream < pipes->count; stream++) {
        close(pipes->services[stream]);
        if (kind == EXECUTED) close(pipes->cells[stream]);
    }
    if (kind == COPIED) close(pipes->tell[1]), close(pipes->hear[0]);
}

/*
 * The connection from process 1 to the launcher. In a copy's cell, the connection also names the sender of a message,
 * because process 1 of that cell is not a clone of the launcher.
 */
static void open_way_up(enum kind kind, int *up)
{
    const int yes = 1;
    if (kind != COPIED) open_pipe(up);
    else if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, up) != 0 ||
        setsockopt(up[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0)
        fail("cannot make a connection: %m");
    if (fcntl(up[0], F_SETFL, O_NONBLOCK) != 0) fail("cannot make a connection: %m");
}

/* In cgroup v2 the process is born in its group. The maker of a copy's cell makes namespaces itself. */
pid_t clone_cell(const struct configuration *configuration, enum kind kind, const char *id)
{
    struct clone_args arguments = {
        .flags = kind == COPIED ? 0 : CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS,
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

static void close_copy(struct cell *cell)
{
    while (cell->copy_files > 0) close(cell->copy[--cell->copy_files]);
}

/* Says that a cell could not be made, once its processes have ended. The kernel may need some time for that. */
static void finish_refusal(const struct configuration *configuration, struct cell *cell)
{
    if (cell->maker > 0 && waitpid(cell->maker, NULL, WNOHANG) != 0) cell->maker = 0;
    if (cell->pid > 0 && waitpid(cell->pid, NULL, WNOHANG) != 0) cell->pid = 0;
    if (cell->maker > 0 || cell->pid > 0) return;
    cell->is_gone = 1;
    remove_groups(configuration, cell->request.id);
    answer("refused %s %s\n", cell->request.id, cell->refusal);
    free(cell->refusal);
    cell->refusal = NULL;
}

void refuse(const struct configuration *configuration, struct cell *cell, const char *reason)
{
    if (cell->refusal != NULL) return;
    if (cell->up >= 0) close(cell->up);
    if (cell->down >= 0) close(cell->down);
    cell->up = cell->down = -1;
    close_copy(cell);
    let_go(cell);
    if (cell->maker > 0) kill(cell->maker, SIGKILL);
    if (cell->pid > 0) kill(cell->pid, SIGKILL);
    if ((cell->refusal = strdup(reason)) == NULL) fail("no memory for a reason");
    finish_refusal(configuration, cell);
}

/* Keeps the ends of pipes that the copy will get. The copy's other files are opened once process 1 asks for the copy. */
static void keep_for_copy(struct cell *cell, const struct pipes *pipes)
{
    const int ends[] = { pipes->cells[0], pipes->cells[1], pipes->cells[2], pipes->tell[0], pipes->hear[1] };
    memcpy(cell->copy, ends, sizeof ends);
    cell->copy_files = sizeof ends / sizeof *ends;
}

void make_cell(const struct configuration *configuration, enum kind kind, const struct request *request, const char *accesses)
{
    struct cell cell = { .request = *request, .kind = kind, .up = -1, .down = -1 };
    struct pipes pipes = { 0 };
    char reason[REASON_BYTES_MAX];
    int up[2], down[2];
    report->length = 0;
    if (make_groups(configuration, request->id) != 0 || access_groups(request->id, accesses, report) != 0) {
        snprintf(reason, sizeof reason, "cannot make its groups: %s", strerror(errno));
        return refuse(configuration, &cell, reason);
    }
    open_pipes(&pipes, kind, request->has_tools);
    open_way_up(kind, up);
    open_pipe(down);
    pid_t pid = clone_cell(configuration, kind, request->id);
    if (pid == 0 && kind == COPIED) become_maker(configuration, request, &pipes, up[1], down);
    if (pid == 0) become_cell(configuration, kind, request, &pipes, up[1], down[0]);
    int error = errno;
    close_pipes(&pipes, kind);
    close(up[1]), close(down[0]);
    cell.up = up[0], cell.down = down[1];
    if (kind == COPIED) cell.maker = pid, keep_for_copy(&cell, &pipes);
    else cell.pid = pid;
    if (pid < 0) {
        cell.pid = cell.maker = 0;
        snprintf(reason, sizeof reason, "cannot clone: %s", strerror(error));
        return refuse(configuration, &cell, reason);
    }
    /* Only the maker can tell process 1 to go on. If the maker ends before that, process 1 finds the end of this pipe. */
    if (kind == COPIED) close(cell.down), cell.down = -1;
    cells[cell_count++] = cell;
}

void tell_if_made(const struct configuration *configuration, struct cell *cell)
{
    /* The maker counts as a process of the cell until it has been waited for. */
    if (!cell->is_up || cell->is_made || cell->asked != 0 || cell->maker > 0 || cell->refusal != NULL) return;
    if (cell->down >= 0) close(cell->down);
    cell->down = -1;
    if (find_waiting(cell, configuration->compiler.count > 0 ? 2 : 1) != 0)
        return refuse(configuration, cell, "its waiting processes are not as expected");
    report->length = 0;
    describe_cell(report, cell->pid, cell->waiting, cell->waiting_count);
    for (int at = 0; at < configuration->look.count; at++)
        access_groups(cell->request.id, configuration->look.first[at], report);
    cell->is_made = 1;
    answer_with_report("made", cell, report);
}

static void tell_end(const struct configuration *configuration, struct cell *cell)
{
    cell->is_over = 1;
    report->length = 0;
    add_section(report, "ending", "%s", cell->said);
    for (int at = 0; at < configuration->usage.count; at++)
        access_groups(cell->request.id, configuration->usage.first[at], report);
    answer_with_report("ended", cell, report);
}

/*
 * Process 1 reported how the program ended. The cell is over now if all its other processes are dead, else when
 * process 1 ends.
 */
static void hear_end(const struct configuration *configuration, struct cell *cell)
{
    if (!cell->is_over && is_alone(configuration, cell->request.id)) tell_end(configuration, cell);
    kill(cell->pid, SIGKILL);
}

/* Handles a message from a cell that is being made: it waits for its mapping or for a copy, is up, or has failed. */
static void hear_new(const struct configuration *configuration, struct cell *cell, char *said, ssize_t length)
{
    if (length == 1 && said[0] == 'm') return map_users(configuration, cell);
    if (length == 1 && said[0] == 'w' && cell->pid > 0) return ask_for_copy(configuration, cell);
    if (length == 1 && said[0] == 'r') {
        cell->is_up = 1;
        return tell_if_made(configuration, cell);
    }
    said[strcspn(said, "\n")] = '\0';
    refuse(configuration, cell, length > 0 ? said : "it ended while it was made");
}

/* When process 1 of a copy's cell sends its first message, the kernel says which process it is. */
static ssize_t read_message(struct cell *cell, char *said, size_t room)
{
    char control[CMSG_SPACE(sizeof(struct ucred))];
    struct iovec part = { said, room };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
    if (cell->kind != COPIED) return read(cell->up, said, room);
    ssize_t length = recvmsg(cell->up, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *header = length > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (cell->pid == 0 && header != NULL && header->cmsg_type == SCM_CREDENTIALS && said[0] == 'w')
        memcpy(&cell->pid, CMSG_DATA(header) + offsetof(struct ucred, pid), sizeof cell->pid);
    return length;
}

void hear(const struct configuration *configuration, struct cell *cell)
{
    char said[REASON_BYTES_MAX];
    ssize_t length = read_message(cell, said, sizeof said - 1);
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
        if (cell->maker > 0 && cell->refusal == NULL && waitpid(cell->maker, NULL, WNOHANG) == cell->maker) {
            cell->maker = 0;
            tell_if_made(configuration, cell);
        }
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
        } else if (!cell->is_gone) cells[kept++] = *cell;
    }
    cell_count = kept;
}

void forget(struct cell *cell)
{
    cell->is_forgotten = 1;
    let_go(cell);
}

void hold(const struct configuration *configuration, struct cell *cell, const unsigned long *limits, const char *accesses)
{
    report->length = 0;
    if (limit_waiting(cell, limits) != 0 || access_groups(cell->request.id, accesses, report) != 0) {
        answer("failed %s %d\n", cell->request.id, errno);
        return;
    }
    char rows[ORDER_BYTES];
    say_limits(rows, sizeof rows, cell->held);
    add_section(report, "process limits", "%s\n", rows);
    if (configuration->groups.count > 0) forget(cell);
    else let_go(cell);
    answer_with_report("held", cell, report);
}
