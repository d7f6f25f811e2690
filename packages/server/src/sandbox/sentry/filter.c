/*
 * svc-filter: reads the rules of a system call filter on standard input, and writes the filter as the program that
 * seccomp(2) takes. Process 1 of a gVisor cell applies it. From the same rules, runsc would make a filter for every
 * cell, which takes longer than everything else that it does before a program runs.
 *
 *   rule NAMES<tab>allow|ERRNO [INDEX EQ|MASKED_EQ VALUE SECOND]...    all comparisons must hold; of MASKED_EQ VALUE is the mask
 *   otherwise ERRNO                                                     of a call that no rule fits
 *
 * As with runsc, the first rule that fits decides, and an unknown name is left out.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RULES_MAX = 2048, COMPARISONS_MAX = 6, CALLS = 1024, LINE_BYTES_MAX = 32768, LABELS_MAX = 4096, VERDICTS_MAX = 16 };

#if defined(__x86_64__)
enum { HERE = AUDIT_ARCH_X86_64 };
#elif defined(__aarch64__)
enum { HERE = AUDIT_ARCH_AARCH64 };
#endif

struct comparison {
    unsigned index;
    unsigned long long mask, value;
};

/* One call and one verdict. Rules are in the order in which they were read. */
struct rule {
    int call;
    unsigned verdict;
    int count;
    struct comparison comparisons[COMPARISONS_MAX];
};

static struct rule rules[RULES_MAX];
static int rule_count;
static unsigned otherwise;

/* The program. Its jumps name labels until the whole program is made. */
static struct sock_filter program[BPF_MAXINSNS];
static struct { int yes, no; } jumps[BPF_MAXINSNS];
static int length;
static int places[LABELS_MAX];
static int label_count;

static void fail(const char *what, const char *of)
{
    fprintf(stderr, "svc-filter: %s: %s\n", what, of);
    exit(1);
}

static void read_comparisons(struct rule *rule, const char *words)
{
    for (;;) {
        unsigned index;
        char operator[16];
        unsigned long long value, second;
        int taken = 0, parts = sscanf(words, " %u %15s %llu %llu%n", &index, operator, &value, &second, &taken);
        if (parts <= 0) return;
        int is_masked = parts == 4 && !strcmp(operator, "MASKED_EQ");
        if (parts != 4 || index > 5 || rule->count == COMPARISONS_MAX || (!is_masked && strcmp(operator, "EQ")))
            fail("malformed comparison", words);
        rule->comparisons[rule->count++] =
            is_masked ? (struct comparison){ index, value, second } : (struct comparison){ index, ~0ull, value };
        words += taken;
    }
}

static void read_rule(char *line)
{
    char verdict[8] = "", *rest = NULL, *tab = strchr(line, '\t');
    struct rule rule = { 0 };
    int taken = 0;
    if (tab == NULL || sscanf(tab + 1, "%7s%n", verdict, &taken) != 1) fail("malformed rule", line);
    *tab = '\0';
    rule.verdict = !strcmp(verdict, "allow") ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (atoi(verdict) & SECCOMP_RET_DATA);
    read_comparisons(&rule, tab + 1 + taken);
    for (char *name = strtok_r(line, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest)) {
        rule.call = seccomp_syscall_resolve_name(name);
        if (rule.call < 0 || rule.call >= CALLS - 1) continue;
        if (rule_count == RULES_MAX) fail("too many rules", name);
        rules[rule_count++] = rule;
    }
}

static int new_label(void)
{
    if (label_count == LABELS_MAX) fail("too many labels", "the filter");
    return label_count++;
}

static void place(int label)
{
    places[label] = length;
}

static void add(struct sock_filter instruction)
{
    if (length == BPF_MAXINSNS) fail("too long", "the filter");
    jumps[length].yes = jumps[length].no = -1;
    program[length++] = instruction;
}

static void load(size_t offset)
{
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

static void jump(unsigned operation, unsigned value, int yes, int no)
{
    add((struct sock_filter)BPF_JUMP(BPF_JMP | operation | BPF_K, value, 0, 0));
    jumps[length - 1].yes = yes, jumps[length - 1].no = no;
}

/* Every verdict is stated once in each part of the program, so that no jump is too long for a filter. */
static struct { unsigned verdict; int label; } verdicts[VERDICTS_MAX];
static int verdict_count;

static int label_of(unsigned verdict)
{
    for (int at = 0; at < verdict_count; at++)
        if (verdicts[at].verdict == verdict) return verdicts[at].label;
    if (verdict_count == VERDICTS_MAX) fail("too many verdicts", "the rules");
    verdicts[verdict_count].verdict = verdict;
    return verdicts[verdict_count++].label = new_label();
}

static void say_verdicts(void)
{
    for (int at = 0; at < verdict_count; at++) {
        place(verdicts[at].label);
        add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdicts[at].verdict));
    }
    verdict_count = 0;
}

/* Continues if one half of the argument has the wanted value. */
static void compare_half(size_t offset, unsigned mask, unsigned value, int otherwise_to)
{
    if (mask == 0) return;
    load(offset);
    if (mask != ~0u) add((struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    int next = new_label();
    jump(BPF_JEQ, value, next, otherwise_to);
    place(next);
}

static void add_rule(const struct rule *rule, int otherwise_to)
{
    for (int at = 0; at < rule->count; at++) {
        const struct comparison *of = &rule->comparisons[at];
        size_t offset = offsetof(struct seccomp_data, args) + 8 * of->index;
        compare_half(offset, of->mask, of->value, otherwise_to);
        compare_half(offset + 4, of->mask >> 32, of->value >> 32, otherwise_to);
    }
    int label = label_of(rule->verdict);
    jump(BPF_JEQ, 0, label, label);
}

/* For each call its verdict, or the label of the comparisons that find it. */
static struct { unsigned verdict; int label; } calls[CALLS];

static void look_at_call(int call)
{
    calls[call].verdict = otherwise, calls[call].label = -1;
    for (int at = 0; at < rule_count; at++) {
        if (rules[at].call != call) continue;
        if (rules[at].count > 0) calls[call].label = new_label();
        else calls[call].verdict = rules[at].verdict;
        return;
    }
}

/* Adds the comparisons of one call, in order, and the verdict for a call that none of them fits. */
static void add_comparisons(int call)
{
    place(calls[call].label);
    for (int at = 0; at < rule_count; at++) {
        if (rules[at].call != call) continue;
        int next = new_label();
        add_rule(&rules[at], next);
        place(next);
        if (rules[at].count == 0) return;
    }
    int label = label_of(otherwise);
    jump(BPF_JEQ, 0, label, label);
}

static int is_as_before(int call)
{
    return calls[call].label < 0 && calls[call - 1].label < 0 && calls[call].verdict == calls[call - 1].verdict;
}

/* Halves the ranges of calls with the same verdict until one is left. Returns the label of its verdict. */
static int find(const int *starts, int count)
{
    if (count == 1) return calls[*starts].label >= 0 ? calls[*starts].label : label_of(calls[*starts].verdict);
    int half = count / 2, here = new_label(), at = length;
    place(here);
    jump(BPF_JGE, starts[half], -1, -1);
    int no = find(starts, half), yes = find(starts + half, count - half);
    jumps[at].yes = yes, jumps[at].no = no;
    return here;
}

static void resolve(void)
{
    for (int at = 0; at < length; at++) {
        if (jumps[at].yes < 0) continue;
        int yes = places[jumps[at].yes] - at - 1, no = places[jumps[at].no] - at - 1;
        if (yes < 0 || no < 0 || yes > 255 || no > 255) fail("too long a jump", "the filter");
        program[at].jt = yes, program[at].jf = no;
    }
}

/* Checks only calls of this machine's own architecture: first their numbers, then their arguments. */
static void make_program(void)
{
    static int starts[CALLS];
    int count = 0, here = new_label();
    for (int call = 0; call < CALLS; call++) {
        look_at_call(call);
        if (call == 0 || !is_as_before(call)) starts[count++] = call;
    }
    load(offsetof(struct seccomp_data, arch));
    jump(BPF_JEQ, HERE, here, label_of(otherwise));
    place(here);
    load(offsetof(struct seccomp_data, nr));
    find(starts, count);
    say_verdicts();
    for (int call = 0; call < CALLS; call++)
        if (calls[call].label >= 0) add_comparisons(call);
    say_verdicts();
    resolve();
}

int main(void)
{
    static char line[LINE_BYTES_MAX];
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (!strncmp(line, "rule ", 5)) read_rule(line + 5);
        else if (!strncmp(line, "otherwise ", 10)) otherwise = SECCOMP_RET_ERRNO | (atoi(line + 10) & SECCOMP_RET_DATA);
        else fail("unknown line", line);
    }
    if (rule_count == 0 || otherwise == 0) fail("incomplete", "the rules");
    make_program();
    return fwrite(program, sizeof *program, length, stdout) == (size_t)length && fflush(stdout) == 0 ? 0 : 1;
}
