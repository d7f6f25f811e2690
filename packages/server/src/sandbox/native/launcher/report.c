/*
 * The kernel's report on a cell: sections of text, each after a line `==> NAME`, as `cell/observe/guest-report.ts` reads
 * them. The launcher asks the host's kernel, from outside the cell; process 1 of a gVisor cell asks its own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher.h"

static const char *const NAMESPACES[] = { "mnt", "pid", "net", "ipc", "uts", "user", "cgroup" };

static void add(struct report *report, const char *text)
{
    size_t length = strlen(text);
    if (report->length + length >= sizeof report->text) fail("a report is too long");
    memcpy(report->text + report->length, text, length + 1);
    report->length += length;
}

void begin_section(struct report *report, const char *name)
{
    add(report, "==> ");
    add(report, name);
    add(report, "\n");
}

void add_section(struct report *report, const char *name, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    begin_section(report, name);
    add(report, text);
}

int add_contents(struct report *report, int file)
{
    for (;;) {
        size_t room = sizeof report->text - 1 - report->length;
        ssize_t count = read(file, report->text + report->length, room);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return -1;
        if (count == 0) return 0;
        if ((size_t)count == room) fail("a report is too long");
        report->length += count;
        report->text[report->length] = '\0';
    }
}

void add_file(struct report *report, const char *name, const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    begin_section(report, name);
    if (file < 0 || add_contents(report, file) != 0) add(report, "unreadable\n");
    if (file >= 0) close(file);
}

void add_namespaces(struct report *report, pid_t pid)
{
    for (size_t at = 0; at < sizeof NAMESPACES / sizeof *NAMESPACES; at++) {
        char path[64], section[32], name[64];
        snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, NAMESPACES[at]);
        snprintf(section, sizeof section, "ns/%s", NAMESPACES[at]);
        ssize_t count = readlink(path, name, sizeof name - 1);
        name[count < 0 ? 0 : count] = '\0';
        add_section(report, section, "%s\n", count < 0 ? "unreadable" : name);
    }
}

int list_children(pid_t pid, pid_t *into, int most)
{
    char path[64], text[256] = "", *rest = text;
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, text, sizeof text - 1) < 0) { /* The process has ended, so it has no children. */ }
    if (file >= 0) close(file);
    for (char *end;; rest = end) {
        long child = strtol(rest, &end, 10);
        if (end == rest) return count;
        if (count == most) return most + 1;
        into[count++] = child;
    }
}

static void add_process_file(struct report *report, const char *name, pid_t pid, const char *of)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, of);
    add_file(report, name, path);
}

void describe_cell(struct report *report, pid_t init, const pid_t *waiting, int count)
{
    pid_t interpreter = waiting[count - 1];
    add_process_file(report, "init/status", init, "status");
    if (count > 1) add_process_file(report, "compiler/status", waiting[0], "status");
    add_process_file(report, "status", interpreter, "status");
    add_process_file(report, "mountinfo", interpreter, "mountinfo");
    add_process_file(report, "/proc/net/dev", interpreter, "net/dev");
    add_namespaces(report, interpreter);
}
