/*
 * The protocol with the service, one line for each message. If a line from the launcher ends with LENGTH, this many bytes follow
 * it: a report on the cell.
 *
 *   in   `cell ID UID ACCESS...`         make a cell: its groups first, with what is written to them; UID and UID + 1 are its
 *                                        users on the host. `tools` in place of `cell`: its program may call tools
 *   in   `hold ID NAME=VALUE... ACCESS...`
 *                                        set a job's limits on the cell's waiting processes and groups; read them back
 *   in   `forget ID`                     the cell will get no job: the service looks no more at its process or its groups
 *   out  `made ID PID LENGTH`            the cell waits for a job. Until the job is handed over, descriptors 20 to 23 of its
 *                                        process 1, and 28 and 29 if it has tools, are for the service. The report is
 *                                        what the host's kernel says of the cell
 *   out  `refused ID REASON`             the cell could not be made, and nothing is left of it
 *   out  `held ID LENGTH`                the limits as they are now, and whatever else was to be read
 *   out  `failed ID ERRNO`               the limits could not all be set
 *   out  `ended ID LENGTH`               nothing of the program is alive: how it ended, and what its groups counted
 *   out  `gone ID` or `gone ID left`     nothing is left of the cell, or only its groups, which the kernel would not remove;
 *                                        only once a job was handed over or the cell is forgotten
 *
 * Cells are made side by side: no function here waits for one of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "launcher.h"

enum { REQUESTS_BYTES_MAX = 16384 };

static struct cell *find_cell(const char *id)
{
    for (int at = 0; at < cell_count; at++)
        if (cells[at].pid > 0 && !strcmp(cells[at].request.id, id)) return &cells[at];
    return NULL;
}

static void take_request(const struct configuration *configuration, const char *line)
{
    struct request request = { 0 };
    unsigned long limits[LIMITS];
    unsigned root;
    int length = 0;
    request.has_tools = !strncmp(line, "tools ", 6);
    if (sscanf(line, request.has_tools ? "tools %63[0-9a-f-] %u%n" : "cell %63[0-9a-f-] %u%n", request.id, &root, &length) == 2) {
        request.root = root;
        enum kind kind = configuration->library == NULL ? EXECUTED : COPIED;
        if (kind == COPIED && request.has_tools) fail("no copy of the template has tools");
        if (cell_count < CELLS_MAX) make_cell(configuration, kind, &request, line + length);
        else answer("refused %s there are too many cells\n", request.id);
        return;
    }
    int holds = sscanf(line, "hold %63[0-9a-f-]%n", request.id, &length) == 1;
    const char *accesses = holds ? read_limits(line + length, limits) : NULL;
    if (holds ? accesses == NULL : sscanf(line, "forget %63[0-9a-f-]", request.id) != 1)
        fail("the service sent a malformed request");
    struct cell *cell = find_cell(request.id);
    /* A request for a sign of life names no cell. The launcher does not answer it while the template owes a copy. */
    if (cell == NULL && !holds && owes_copy()) return;
    if (cell == NULL || !cell->is_made) answer("failed %s %d\n", request.id, ESRCH);
    else if (holds) hold(configuration, cell, limits, accesses);
    else forget(cell);
}

/* Takes every complete line that has come. */
static void take_requests(const struct configuration *configuration)
{
    static char *text;
    static size_t length;
    if (text == NULL) text = forgotten_memory(REQUESTS_BYTES_MAX);
    ssize_t count = read(STDIN_FILENO, text + length, REQUESTS_BYTES_MAX - 1 - length);
    if (count == 0) end_with_template(configuration); /* The service ended: its cells end with this process. */
    if (count < 0) return;
    length += count;
    char *line = text, *end;
    while ((end = memchr(line, '\n', text + length - line)) != NULL) {
        *end = '\0';
        take_request(configuration, line);
        line = end + 1;
    }
    length -= line - text;
    memmove(text, line, length);
}

/* To wait for: the service, signals, the template, and each cell's connection and the handles of its waiting processes. */
static struct pollfd waits[CELLS_MAX * (1 + WAITING_MAX) + 3];

static int add_wait(int count, int file)
{
    waits[count] = (struct pollfd){ .fd = file, .events = POLLIN };
    return count + 1;
}

/* Waits for work, and handles the messages of cells. */
static void attend(const struct configuration *configuration, int signals)
{
    int count = add_wait(add_wait(add_wait(0, STDIN_FILENO), signals), template_socket), known = cell_count;
    for (int at = 0; at < known; at++) {
        count = add_wait(count, cells[at].up);
        for (int each = 0; each < cells[at].waiting_count; each++) count = add_wait(count, cells[at].handles[each]);
    }
    if (poll(waits, count, -1) < 0 && errno != EINTR) fail("cannot wait: %m");
    for (int at = 0, wait = 3; at < known; at++) {
        int waiting_count = cells[at].waiting_count;
        if (waits[wait++].revents != 0) hear(configuration, &cells[at]);
        /* A process that waits for a job has ended, so the cell can no longer be used. */
        for (int each = 0; each < waiting_count; each++)
            if (waits[wait++].revents != 0 && cells[at].pid > 0) kill(cells[at].pid, SIGKILL);
    }
}

void serve_cells(const struct configuration *configuration)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) fail("cannot wait for signals: %m");
    answer("ready\n");
    for (;;) {
        struct signalfd_siginfo signal;
        attend(configuration, signals);
        int has_ended = 0;
        while (read(signals, &signal, sizeof signal) > 0) has_ended = 1;
        if (waits[0].revents != 0) take_requests(configuration);
        if (waits[2].revents != 0) hear_template(configuration);
        if (has_ended) look_for_endings(configuration);
        bury(configuration);
    }
}
