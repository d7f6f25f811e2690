/*
 * Work on a cell from outside, by the host's root: mapping its users, and setting the limits of a job on its waiting processes.
 * The launcher keeps handles of those processes (pidfd_open(2)): once process 1 is dead, other processes may get those ids.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher.h"

/* Where the users of cells begin in the template's user namespace, above those of its own cell. */
enum { CELLS_USERS = 1 << 20 };

unsigned template_id_of(const struct configuration *configuration, uid_t user)
{
    return CELLS_USERS + (user - configuration->users_first);
}

/* Writes `INSIDE OUTSIDE COUNT` for the users of cells from `from` on and before `to`. */
static int map_range(char *into, size_t room, const struct configuration *configuration, uid_t from, uid_t to)
{
    if (from >= to) return 0;
    return snprintf(into, room, "%u %u %u\n", template_id_of(configuration, from), from, to - from);
}

/* The template's namespace has two users of its own, and the users of all cells: their namespaces are made below it. */
void map_users(const struct configuration *configuration, const struct cell *cell)
{
    uid_t root = cell->request.root, first = configuration->users_first, end = first + configuration->users_count;
    char others[128] = "", one[32];
    snprintf(one, sizeof one, "%u 0 1\n", (unsigned)JOB_UID);
    if (cell->kind == TEMPLATE) {
        int length = map_range(others, sizeof others, configuration, first, root);
        map_range(others + length, sizeof others - length, configuration, root + 2, end);
    }
    /* If this fails, the cell cannot become its user, and so ends with an error. */
    if (configuration->has_one_user) (void)write_maps(-1, cell->pid, one);
    else (void)map_cell(-1, cell->pid, root, root + 1, others);
    if (write(cell->down, "m", 1) < 0) { /* Process 1 has ended, as the next read shows. */ }
}

int find_waiting(struct cell *cell, int expected)
{
    int count = list_children(cell->pid, cell->waiting, expected);
    if (count != expected) return -1;
    for (; cell->waiting_count < count; cell->waiting_count++) {
        int handle = syscall(SYS_pidfd_open, cell->waiting[cell->waiting_count], 0);
        if (handle < 0) return -1;
        cell->handles[cell->waiting_count] = handle;
    }
    /*
     * If a second list has the same ids, the handles are right: nobody can take the id of a child that was not waited
     * for.
     */
    pid_t again[WAITING_MAX];
    if (list_children(cell->pid, again, expected) != expected) return -1;
    return memcmp(again, cell->waiting, expected * sizeof *again) == 0 && is_whole(cell) ? 0 : -1;
}

int is_whole(const struct cell *cell)
{
    struct pollfd waits[WAITING_MAX];
    for (int at = 0; at < cell->waiting_count; at++)
        waits[at] = (struct pollfd){ .fd = cell->handles[at], .events = POLLIN };
    return poll(waits, cell->waiting_count, 0) == 0;
}

int limit_waiting(struct cell *cell, const unsigned long *limits)
{
    if (cell->is_limited) return 0;
    for (int at = 0; at < cell->waiting_count && is_whole(cell); at++)
        if (limit_process(cell->waiting[at], limits, cell->held) != 0) return -1;
    /* If the processes are alive now, the ids were theirs all the time, and the limits that were read are theirs. */
    cell->is_limited = is_whole(cell);
    errno = ESRCH;
    return cell->is_limited ? 0 : -1;
}

void let_go(struct cell *cell)
{
    while (cell->waiting_count > 0) close(cell->handles[--cell->waiting_count]);
}

int note(struct cell *cell, const char *text)
{
    const char *end = strrchr(text, '\n');
    if (end == NULL) return 0;
    const char *line = end;
    while (line > text && line[-1] != '\n') line--;
    snprintf(cell->said, sizeof cell->said, "%.*s", (int)(end + 1 - line), line);
    return strncmp(cell->said, "compiling", 9) != 0 && strncmp(cell->said, "running", 7) != 0;
}
