/* How all of the programs fail, and what each does at its start. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher.h"

enum { REASON_BYTES_MAX = 512 };

int failures = STDERR_FILENO;

void fail(const char *format, ...)
{
    char line[REASON_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (length > (int)sizeof line - 2) length = sizeof line - 2;
    line[length++] = '\n';
    if (write(failures, line, length) < 0) { /* Nobody listens: only the exit code is left. */ }
    syscall(SYS_exit_group, 125);
    __builtin_unreachable();
}

void reset_signals(void)
{
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
}
