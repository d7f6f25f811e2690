/* The system call filter, made once by libseccomp: the same library, and so the same filter, that crun uses. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "launcher.h"

/*
 * `NAMES<tab>allow|ERRNO [INDEX OPERATOR VALUE [SECOND]]`. Errno 0 is a success that does nothing. Operators are EQ, NE and MASKED_EQ, whose first
 * value is the mask. A name that this library or this machine does not know is left out, as it can then not be called; so is one
 * that says what becomes of every other call anyway.
 */
static void add_rule(scmp_filter_ctx filter, const char *name, const char *rule, unsigned otherwise)
{
    unsigned index = 0;
    char verdict[8] = "", operator[16] = "";
    unsigned long long value = 0, second = 0;
    int parts = sscanf(rule, "%7s %u %15s %llu %llu", verdict, &index, operator, &value, &second);
    int number = seccomp_syscall_resolve_name(name);
    int allows = !strcmp(verdict, "allow");
    unsigned error = atoi(verdict);
    if (number == __NR_SCMP_ERROR || number < 0 || (!allows && error == otherwise)) return;
    uint32_t action = allows ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(error);
    int failed = 0;
    if (parts == 1) failed = seccomp_rule_add(filter, action, number, 0);
    else {
        enum scmp_compare comparison = !strcmp(operator, "EQ") ? SCMP_CMP_EQ
            : !strcmp(operator, "NE")                          ? SCMP_CMP_NE
            : !strcmp(operator, "MASKED_EQ")                   ? SCMP_CMP_MASKED_EQ
                                                               : 0;
        if (comparison == 0 || parts < 4) fail("the filter has a malformed rule: %s %s", name, rule);
        failed = seccomp_rule_add(filter, action, number, 1, SCMP_CMP(index, comparison, value, second));
    }
    if (failed != 0) fail("the filter refuses a rule: %s %s: %s", name, rule, strerror(-failed));
}

/* Calls of another architecture, 32-bit and x32 among them, end the process with SIGSYS, which is libseccomp's default. */
struct sock_fprog make_filter(const struct words *rules, int otherwise)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(otherwise));
    if (filter == NULL) fail("cannot make a filter");
    /* A tree of comparisons instead of a list: installing it costs a third, and so does each call it looks at. */
    seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    for (int at = 0; at < rules->count; at++) {
        if (rules->second[at] == NULL) fail("the filter has a rule without an action");
        char *name = rules->first[at], *rest = NULL;
        for (name = strtok_r(name, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest))
            add_rule(filter, name, rules->second[at], otherwise);
    }
    int file = memfd_create("filter", MFD_CLOEXEC);
    if (file < 0 || seccomp_export_bpf(filter, file) != 0) fail("cannot export the filter: %m");
    off_t size = lseek(file, 0, SEEK_END);
    struct sock_fprog program = { .len = size / sizeof(struct sock_filter), .filter = malloc(size) };
    if (pread(file, program.filter, size, 0) != size) fail("cannot read the filter: %m");
    close(file);
    seccomp_release(filter);
    return program;
}
