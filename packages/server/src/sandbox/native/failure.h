/* How every native program fails: with one line and exit code 125. */
#ifndef FAILURE_H
#define FAILURE_H

/* The most bytes of the line, and of a reason that a program keeps. */
enum { REASON_BYTES_MAX = 512 };

/* The beginning of the line. */
extern const char *speaker;
/* The descriptor to which the line is written: standard error or, in a cell that is being made, the launcher. */
extern int failures;
/* Called after the line, if it is not null. */
extern void (*say_more)(void);

/* Ends this process with one line that says what failed and why. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Fails with `cannot`, these words and the error, if `result` is below 0. */
void must(long result, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Resets all signals: otherwise, ignored signals would stay ignored over exec(2). */
void reset_signals(void);

#endif
