/* How the native programs fail, and how they reset signals at their start. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "failure.h"

const char *speaker = "";
int failures = STDERR_FILENO;
void (*say_more)(void);

static void end(const char *before, const char *format, va_list values, const char *after)
{
    char text[REASON_BYTES_MAX], line[REASON_BYTES_MAX];
    vsnprintf(text, sizeof text, format, values);
    int length = snprintf(line, sizeof line - 1, "%s%s%s%s", speaker, before, text, after);
    if (length > (int)sizeof line - 2) length = sizeof line - 2;
    line[length++] = '\n';
    if (write(failures, line, length) < 0) { /* Nobody reads the line: only the exit code tells of the failure. */ }
    if (say_more != NULL) say_more();
    syscall(SYS_exit_group, 125);
}

void fail(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    end("", format, values, "");
    __builtin_unreachable();
}

void must(long result, const char *format, ...)
{
    va_list values;
    if (result >= 0) return;
    char why[64];
    snprintf(why, sizeof why, ": %m");
    va_start(values, format);
    end("cannot ", format, values, why);
}

void reset_signals(void)
{
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
}
