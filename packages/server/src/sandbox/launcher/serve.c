/*
 * The conversation with the service, a line each way:
 *
 *   in   `cell ID UID`                   make a cell; its groups are there, and UID and UID + 1 are its users on the host
 *   in   `forget ID`                     the service looks at the cell's process no more: its id may be given away again
 *   out  `made ID PID`                   its process 1; descriptors 20, 21 and 22 of it are the service's ends of its pipes
 *   out  `refused ID REASON`             it could not be made, and nothing is left of it
 *   out  `ended ID`                      process 1 of a made cell has ended, and everything of it
 *
 * Cells are made side by side: nothing here waits for one of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher.h"

enum { REASON_BYTES_MAX = 512, REQUESTS_BYTES_MAX = 16384 };

/* A cell that is being made has `up` and `down`; one that was made has neither. It is reaped when it is forgotten. */
struct cell {
    struct request request;
    pid_t pid;
    int up, down;
    int has_ended, is_forgotten;
};

static struct cell cells[CELLS_MAX];
static int cell_count;

static void answer(const char *format, ...)
{
    char line[REASON_BYTES_MAX + 2 * ID_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (int sent = 0; sent < length;) {
        ssize_t count = write(STDOUT_FILENO, line + sent, length - sent);
        if (count < 0 && errno != EINTR) fail("the service is gone: %m");
        if (count > 0) sent += count;
    }
}

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

/* Returns 1 in the interpreter of a zygote's cell, else 0. */
static int make_cell(const struct configuration *configuration, const struct request *request)
{
    struct pipes pipes;
    int up[2], down[2];
    open_pipes(&pipes);
    if (pipe2(up, O_CLOEXEC) != 0 || pipe2(down, O_CLOEXEC) != 0) fail("cannot make a pipe: %m");
    pid_t pid = clone_cell(configuration, request->id);
    if (pid == 0) return become_cell(configuration, request, &pipes, up[1], down[0]);
    int error = errno;
    close_pipes(&pipes);
    close(up[1]), close(down[0]);
    if (pid < 0) {
        answer("refused %s cannot clone: %s\n", request->id, strerror(error));
        close(up[0]), close(down[1]);
        return 0;
    }
    cells[cell_count++] = (struct cell){ .request = *request, .pid = pid, .up = up[0], .down = down[1] };
    return 0;
}

static void write_map(pid_t pid, const char *name, uid_t root)
{
    char path[64], map[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int length = snprintf(map, sizeof map, "0 %u 1\n%u %u 1\n", root, (unsigned)JOB_UID, root + 1);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file >= 0 && write(file, map, length) < 0) { /* The cell notices: it cannot become its root. */ }
    if (file >= 0) close(file);
}

/* The cell said a letter, and waits for its mapping; or why it cannot be made; or it is gone. */
static void hear(struct cell *cell)
{
    char said[REASON_BYTES_MAX];
    ssize_t length = read(cell->up, said, sizeof said - 1);
    if (length < 0 && errno == EINTR) return;
    if (length == 1 && said[0] == 'm') {
        write_map(cell->pid, "uid_map", cell->request.root);
        write_map(cell->pid, "gid_map", cell->request.root);
        if (write(cell->down, "m", 1) < 0) { /* It has ended: the next reading says so. */ }
        return;
    }
    if (length == 1 && said[0] == 'r') answer("made %s %d\n", cell->request.id, cell->pid);
    else {
        if (length < 0) length = 0;
        said[length] = '\0';
        said[strcspn(said, "\n")] = '\0';
        kill(cell->pid, SIGKILL);
        waitpid(cell->pid, NULL, 0);
        answer("refused %s %s\n", cell->request.id, length > 0 ? said : "it ended while it was made");
        cell->pid = 0;
    }
    close(cell->up), close(cell->down);
    cell->up = cell->down = -1;
}

/* Says of each cell that it has ended, and takes those out that are forgotten too. */
static void look_for_endings(void)
{
    int kept = 0;
    for (int at = 0; at < cell_count; at++) {
        struct cell *cell = &cells[at];
        siginfo_t ending = { 0 };
        if (cell->pid > 0 && cell->up < 0 && !cell->has_ended &&
            waitid(P_PID, cell->pid, &ending, WEXITED | WNOHANG | WNOWAIT) == 0 && ending.si_pid == cell->pid) {
            cell->has_ended = 1;
            answer("ended %s\n", cell->request.id);
        }
        if (cell->has_ended && cell->is_forgotten) waitpid(cell->pid, NULL, 0);
        else if (cell->pid > 0) cells[kept++] = *cell;
    }
    cell_count = kept;
}

static void forget(const char *id)
{
    for (int at = 0; at < cell_count; at++)
        if (!strcmp(cells[at].request.id, id)) cells[at].is_forgotten = 1;
}

/* Takes every whole line that has come. Returns 1 in the interpreter of a zygote's cell, else 0. */
static int take_requests(const struct configuration *configuration)
{
    static char text[REQUESTS_BYTES_MAX];
    static size_t length;
    ssize_t count = read(STDIN_FILENO, text + length, sizeof text - 1 - length);
    if (count == 0) syscall(SYS_exit_group, 0); /* The service ended: its cells end with this process. */
    if (count < 0) return 0;
    length += count;
    char *line = text, *end;
    while ((end = memchr(line, '\n', text + length - line)) != NULL) {
        struct request request = { 0 };
        unsigned root;
        *end = '\0';
        int words = sscanf(line, "cell %63[0-9a-f-] %u", request.id, &root);
        int forgets = words < 1 && sscanf(line, "forget %63[0-9a-f-]", request.id) == 1;
        if (words != 2 && !forgets) fail("the service sent a malformed request");
        request.root = root;
        line = end + 1;
        if (forgets) forget(request.id);
        else if (cell_count == CELLS_MAX) answer("refused %s there are too many cells\n", request.id);
        else if (make_cell(configuration, &request)) return 1;
    }
    length -= line - text;
    memmove(text, line, length);
    return 0;
}

int serve_cells(const struct configuration *configuration)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) fail("cannot wait for signals: %m");
    answer("ready\n");
    static struct pollfd waits[CELLS_MAX + 2];
    for (;;) {
        int count = 0;
        waits[count++] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
        waits[count++] = (struct pollfd){ .fd = signals, .events = POLLIN };
        for (int at = 0; at < cell_count; at++) waits[count++] = (struct pollfd){ .fd = cells[at].up, .events = POLLIN };
        if (poll(waits, count, -1) < 0 && errno != EINTR) fail("cannot wait: %m");
        for (int at = 0; at < cell_count; at++)
            if (waits[at + 2].revents != 0) hear(&cells[at]);
        struct signalfd_siginfo signal;
        while (read(signals, &signal, sizeof signal) > 0) {}
        if (waits[0].revents != 0 && take_requests(configuration)) return 0;
        look_for_endings();
    }
}
