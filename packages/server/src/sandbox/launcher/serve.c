/*
 * The protocol with the service, one line for each message. If a line of the launcher ends with LENGTH, this many bytes
 * follow it: a report on the cell.
 *
 *   in   `cell ID UID ACCESS...`         make a cell: its groups first, with what is written to them; UID and UID + 1 are its
 *                                        users on the host
 *   in   `hold ID FSIZE CPU NPROC ACCESS...`
 *                                        set a job's limits on what waits in it and on its groups, and read them back
 *   in   `forget ID`                     no job will be handed over to it: the service looks no more at its process or its groups
 *   out  `made ID PID LENGTH`            it waits for a job; descriptors 20 to 23 of its process 1 are for the service, until the
 *                                        job is handed over. The report is what the host's kernel says of it
 *   out  `refused ID REASON`             it could not be made, and nothing is left of it
 *   out  `held ID LENGTH`                the limits as they are now, and whatever else was to be read
 *   out  `failed ID ERRNO`               they could not all be set
 *   out  `ended ID LENGTH`               nothing of the program is alive: how it ended, and what its groups counted
 *   out  `gone ID` or `gone ID left`     nothing is left of it, or only its groups, which the kernel would not remove; only once
 *                                        a job was handed over or it is forgotten
 *
 * Cells are made side by side: no function here waits for one of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher.h"

enum {
    REQUESTS_BYTES_MAX = 16384,
    ROOM_BYTES = 128 * 1024, /* Of the heap that is kept, so that a short program need not request more. */
};

static struct cell *find_cell(const char *id)
{
    for (int at = 0; at < cell_count; at++)
        if (cells[at].pid > 0 && !strcmp(cells[at].request.id, id)) return &cells[at];
    return NULL;
}

/* Takes one request. Returns 1 in the interpreter of a zygote's cell, else 0. */
static int take_request(const struct configuration *configuration, const char *line)
{
    struct request request = { 0 };
    unsigned long limits[LIMITS];
    unsigned root;
    int length = 0;
    if (sscanf(line, "cell %63[0-9a-f-] %u%n", request.id, &root, &length) == 2) {
        request.root = root;
        if (cell_count < CELLS_MAX) return make_cell(configuration, &request, line + length);
        answer("refused %s there are too many cells\n", request.id);
        return 0;
    }
    int holds = sscanf(line, "hold %63[0-9a-f-] %lu %lu %lu%n", request.id, &limits[0], &limits[1], &limits[2], &length) == 4;
    if (!holds && sscanf(line, "forget %63[0-9a-f-]", request.id) != 1) fail("the service sent a malformed request");
    struct cell *cell = find_cell(request.id);
    if (cell == NULL || !cell->is_made) answer("failed %s %d\n", request.id, ESRCH);
    else if (holds) hold(cell, limits, line + length);
    else forget(cell);
    return 0;
}

/* Takes every complete line that has come. Returns 1 in the interpreter of a zygote's cell, else 0. */
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
        *end = '\0';
        if (take_request(configuration, line)) return 1;
        line = end + 1;
    }
    length -= line - text;
    memmove(text, line, length);
    return 0;
}

static struct pollfd waits[CELLS_MAX * (1 + WAITING_MAX) + 2];

static int add_wait(int count, int file)
{
    waits[count] = (struct pollfd){ .fd = file, .events = POLLIN };
    return count + 1;
}

/* Waits for work, and handles the messages of cells. */
static void attend(const struct configuration *configuration, int signals)
{
    int count = add_wait(add_wait(0, STDIN_FILENO), signals), known = cell_count;
    for (int at = 0; at < known; at++) {
        count = add_wait(count, cells[at].up);
        for (int each = 0; each < cells[at].waiting_count; each++) count = add_wait(count, cells[at].handles[each]);
    }
    if (poll(waits, count, -1) < 0 && errno != EINTR) fail("cannot wait: %m");
    for (int at = 0, wait = 2; at < known; at++) {
        int waiting_count = cells[at].waiting_count;
        if (waits[wait++].revents != 0) hear(configuration, &cells[at]);
        /* A process that waits for a job has ended, so the cell can no longer be used. */
        for (int each = 0; each < waiting_count; each++)
            if (waits[wait++].revents != 0 && cells[at].pid > 0) kill(cells[at].pid, SIGKILL);
    }
}

/* Keeps the launcher's descriptors away from the numbers that a cell's descriptors get. */
static void keep_numbers_free(void)
{
    for (int number = SERVICES_ENDS; number <= DOWN; number++)
        if (dup3(STDIN_FILENO, number, O_CLOEXEC) < 0) fail("cannot keep a descriptor: %m");
}

int serve_cells(const struct configuration *configuration)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) fail("cannot wait for signals: %m");
    keep_numbers_free();
    /* Compacts free memory here and not in each cell, because that writes to its pages. */
    malloc_trim(ROOM_BYTES);
    answer("ready\n");
    for (;;) {
        struct signalfd_siginfo signal;
        attend(configuration, signals);
        int has_ended = 0;
        while (read(signals, &signal, sizeof signal) > 0) has_ended = 1;
        if (waits[0].revents != 0 && take_requests(configuration)) return 0;
        if (has_ended) look_for_endings(configuration);
        bury(configuration);
    }
}
