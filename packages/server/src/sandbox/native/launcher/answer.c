/* The launcher's messages to the service, in the lines that serve.c describes. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "launcher.h"

static void send_bytes(struct iovec *parts, int count)
{
    while (count > 0) {
        ssize_t sent = writev(STDOUT_FILENO, parts, count);
        if (sent < 0 && errno != EINTR) fail("the service is gone: %m");
        for (; sent > 0 && count > 0 && (size_t)sent >= parts->iov_len; parts++, count--) sent -= parts->iov_len;
        if (sent > 0) parts->iov_base = (char *)parts->iov_base + sent, parts->iov_len -= sent;
    }
}

void answer(const char *format, ...)
{
    char line[REASON_BYTES_MAX + 2 * ID_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    send_bytes(&(struct iovec){ line, length }, 1);
}

void answer_with_report(const char *word, const struct cell *cell, const struct report *report)
{
    char line[2 * ID_BYTES_MAX], pid[16] = "";
    if (!strcmp(word, "made")) snprintf(pid, sizeof pid, " %d", cell->pid);
    int length = snprintf(line, sizeof line, "%s %s%s %zu\n", word, cell->request.id, pid, report->length);
    send_bytes((struct iovec[]){ { line, length }, { (char *)report->text, report->length } }, 2);
}
