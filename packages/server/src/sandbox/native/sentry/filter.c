/*
 * svc-filter: reads the rules of a system call filter on standard input, in the lines that a launcher gets, and writes the filter
 * as the program that seccomp(2) takes. Process 1 of a gVisor cell applies it. From the same rules, runsc would make a filter for
 * every cell. Making it takes longer than everything else that runsc does before a program runs.
 *
 * gVisor's kernel treats calls of another architecture as unknown, and so does the filter.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "../launcher/launcher.h"

int main(void)
{
    speaker = "svc-filter: ";
    const struct configuration *read = parse_configuration(read_configuration(STDIN_FILENO));
    if (read->rules.count == 0 || read->otherwise <= 0) fail("there are no rules");
    struct sock_fprog program = make_filter(&read->rules, read->otherwise, NULL, read->otherwise);
    ssize_t length = program.len * sizeof *program.filter;
    return write(STDOUT_FILENO, program.filter, length) == length ? 0 : 1;
}
