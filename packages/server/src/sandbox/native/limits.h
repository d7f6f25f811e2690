/*
 * The limits of a job on each process that waits for it. They cross the wire as rows, `NAME=VALUE`, by the names of this
 * table: `cell/process-limits.ts` has the same, which a test compares. A row: the name, which is also getrlimit(2)'s, and
 * how much more the hard limit is. One second after SIGXCPU a process is killed.
 */
#ifndef LIMITS_H
#define LIMITS_H

#include <stddef.h>
#include <sys/types.h>

#define LIMIT_ROWS(ROW) \
    ROW(FSIZE, 0) \
    ROW(CPU, 1) \
    ROW(NPROC, 0)

#define COUNT_ROW(name, more) + 1
enum { LIMITS = 0 LIMIT_ROWS(COUNT_ROW) };

/* Reads the rows, each of which must be there once. Returns what follows them, or null. */
const char *read_limits(const char *text, unsigned long *limits);
/* Writes the rows. */
void say_limits(char *into, size_t room, const unsigned long *limits);
/* Sets the limits of a process and reads them back. 0, or -1 with `errno`. */
int limit_process(pid_t pid, const unsigned long *limits, unsigned long *held);

#endif
