/* The system call filter, made once by libseccomp: the same library, and so the same filter, that crun uses. */
#define _GNU_SOURCE
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "launcher.h"

enum { ARGUMENTS_MAX = 6 };

static int comparison_of(const char *operator)
{
    return !strcmp(operator, "EQ") ? SCMP_CMP_EQ
        : !strcmp(operator, "NE")  ? SCMP_CMP_NE
        : !strcmp(operator, "GT")  ? SCMP_CMP_GT
        : !strcmp(operator, "MASKED_EQ") ? SCMP_CMP_MASKED_EQ : 0;
}

/* Reads `[INDEX OPERATOR VALUE SECOND]...`. Returns the number of comparisons, -1 if they are malformed. */
static int read_comparisons(struct scmp_arg_cmp *into, const char *words)
{
    for (int count = 0;; count++) {
        unsigned index;
        char operator[16];
        unsigned long long value, second;
        int length = 0, parts = sscanf(words, " %u %15s %llu %llu%n", &index, operator, &value, &second, &length);
        if (parts <= 0) return count;
        int comparison = comparison_of(operator);
        if (parts != 4 || comparison == 0 || count == ARGUMENTS_MAX) return -1;
        into[count] = SCMP_CMP(index, comparison, value, second);
        words += length;
    }
}

/*
 * `NAMES<tab>allow|ERRNO [INDEX OPERATOR VALUE SECOND]...`. Errno 0 is a success that does nothing. Operators are EQ, NE, GT and
 * MASKED_EQ; the first value of MASKED_EQ is the mask. All comparisons of a rule must hold. A name that this library or this
 * machine does not know is left out, because then it cannot be called. A rule that equals the default is left out, too.
 */
static void add_rule(scmp_filter_ctx filter, const char *name, const char *rule, unsigned otherwise)
{
    char verdict[8] = "";
    int length = 0;
    if (sscanf(rule, "%7s%n", verdict, &length) != 1) fail("the filter has a malformed rule: %s %s", name, rule);
    int number = seccomp_syscall_resolve_name(name);
    int allows = !strcmp(verdict, "allow");
    unsigned error = atoi(verdict);
    if (number == __NR_SCMP_ERROR || number < 0 || (!allows && error == otherwise)) return;
    uint32_t action = allows ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(error);
    struct scmp_arg_cmp comparisons[ARGUMENTS_MAX];
    int count = read_comparisons(comparisons, rule + length);
    if (count < 0) fail("the filter has a malformed rule: %s %s", name, rule);
    int failed = seccomp_rule_add_array(filter, action, number, count, comparisons);
    if (failed != 0) fail("the filter refuses a rule: %s %s: %s", name, rule, strerror(-failed));
}

struct sock_fprog make_filter(const struct words *rules, int otherwise, const char *allowed, int foreign)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(otherwise));
    if (filter == NULL) fail("cannot make a filter");
    /* With a tree of comparisons instead of a list, installing the filter and each call take a third of the time. */
    seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (foreign != 0) seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(foreign));
    for (int at = 0; at < rules->count; at++) {
        if (rules->second[at] == NULL) fail("the filter has a rule without an action");
        char *names = strdup(rules->first[at]), *rest = NULL;
        for (char *name = strtok_r(names, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest))
            if (allowed == NULL || strcmp(name, allowed)) add_rule(filter, name, rules->second[at], otherwise);
        free(names);
    }
    if (allowed != NULL) add_rule(filter, allowed, "allow", otherwise);
    int file = memfd_create("filter", MFD_CLOEXEC);
    if (file < 0 || seccomp_export_bpf(filter, file) != 0) fail("cannot export the filter: %m");
    off_t size = lseek(file, 0, SEEK_END);
    struct sock_fprog program = { .len = size / sizeof(struct sock_filter), .filter = malloc(size) };
    if (pread(file, program.filter, size, 0) != size) fail("cannot read the filter: %m");
    close(file);
    seccomp_release(filter);
    return program;
}
