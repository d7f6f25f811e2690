/* The limits of a job: their rows on the wire, and how they are set. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "limits.h"

#define ROW_OF(name, more) { #name, RLIMIT_##name, more },
static const struct { const char *name; int resource; unsigned long more; } ROWS[] = { LIMIT_ROWS(ROW_OF) };

static int row_of(const char *name)
{
    for (int at = 0; at < LIMITS; at++)
        if (!strcmp(ROWS[at].name, name)) return at;
    return -1;
}

const char *read_limits(const char *text, unsigned long *limits)
{
    char name[16];
    unsigned long value;
    unsigned seen = 0;
    for (int length; sscanf(text, " %15[A-Z]=%lu%n", name, &value, &length) == 2; text += length) {
        int row = row_of(name);
        if (row < 0 || seen >> row & 1) return NULL;
        limits[row] = value, seen |= 1u << row;
    }
    return seen == (1u << LIMITS) - 1 ? text : NULL;
}

void say_limits(char *into, size_t room, const unsigned long *limits)
{
    size_t length = 0;
    for (int at = 0; at < LIMITS && length < room; at++)
        length += snprintf(into + length, room - length, "%s%s=%lu", at == 0 ? "" : " ", ROWS[at].name, limits[at]);
}

int limit_process(pid_t pid, const unsigned long *limits, unsigned long *held)
{
    for (int at = 0; at < LIMITS; at++) {
        struct rlimit wanted = { limits[at], limits[at] + ROWS[at].more }, found;
        if (prlimit(pid, ROWS[at].resource, &wanted, NULL) != 0 || prlimit(pid, ROWS[at].resource, NULL, &found) != 0) return -1;
        held[at] = found.rlim_cur;
    }
    return 0;
}
