/*
 * A job's limits on each process that waits for the job (getrlimit(2)). They are sent as `NAME=VALUE` with the names in this
 * table, which a test compares with that of `cell/process-limits.ts`. The table's second column says how far the hard limit is
 * above the soft one. For CPU this is 1, so a process is killed one second after SIGXCPU.
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

/* Reads the rows; each must be there exactly once. Returns the text after them, or null. */
const char *read_limits(const char *text, unsigned long *limits);
/* Writes the rows. */
void say_limits(char *into, size_t room, const unsigned long *limits);
/* Sets the limits of a process and reads them back. Returns 0, or -1 with `errno`. */
int limit_process(pid_t pid, const unsigned long *limits, unsigned long *held);

#endif
