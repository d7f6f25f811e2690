/*
 * Executes the command of a language whose interpreter cannot wait for a program, once the program is released.
 * `release-words.ts` describes the message at the release. The command's words may contain placeholders for the program's
 * directory and its heap size, as in `cell/guest/launch.sh`, which does the same in the cells of an OCI runtime.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher.h"

/* Reads the whole message and ends it with a zero. Its length is in `length`. */
static char *read_told(int descriptor, size_t *length)
{
    size_t room = 4096;
    char *told = malloc(room);
    for (*length = 0;;) {
        if (told == NULL) fail("no memory for the program's words");
        ssize_t count = read(descriptor, told + *length, room - *length - 1);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail("read: %m");
        if (count == 0) break;
        *length += count;
        if (*length == room - 1) told = realloc(told, room *= 2);
    }
    told[*length] = '\0';
    return told;
}

/* A copy of the word in which every occurrence of `place` is replaced. */
static char *with_place(const char *word, const char *place, const char *value)
{
    const char *at = strstr(word, place);
    if (at == NULL) return strdup(word);
    char *rest = with_place(at + strlen(place), place, value), *whole;
    if (rest == NULL || asprintf(&whole, "%.*s%s%s", (int)(at - word), word, value, rest) < 0)
        fail("no memory for the program's words");
    return whole;
}

/* Adds a variable of the program after the fixed variables, or in place of the fixed variable with the same name. */
static void set_variable(char **environment, int *count, char *variable)
{
    size_t name = strcspn(variable, "=") + 1;
    for (int at = 0; at < *count; at++)
        if (!strncmp(environment[at], variable, name)) {
            environment[at] = variable;
            return;
        }
    environment[(*count)++] = variable;
}

/* A session's step loads the session's files before the command, and stores them after it: `cell/session/step.pl`. */
static char step[] = WORK "/input/.session/step.pl", perl[] = "/usr/bin/perl";

void await_and_execute(const struct words *command, const struct words *fixed, int go)
{
    size_t length, count = 0;
    unsigned arguments;
    char heap[16], *told = read_told(go, &length), *words = memchr(told, '\n', length);
    /* If the input ends without a release, the process that held the program is gone. */
    if (words == NULL || sscanf(told, "%15s %u", heap, &arguments) != 2) syscall(SYS_exit_group, 125);
    words++;
    for (char *at = words; at < told + length; at++) count += *at == '\0';
    char **line = calloc(command->count + count + 3, sizeof *line), **all = calloc(fixed->count + count + 1, sizeof *all);
    if (line == NULL || all == NULL) fail("no memory for the program's words");
    int words_count = 0, variables = fixed->count;
    if (access(step, F_OK) == 0) line[words_count++] = perl, line[words_count++] = step;
    for (int at = 0; at < command->count; at++)
        line[words_count++] = with_place(with_place(command->first[at], "{work}", WORK), "{heap_mb}", heap);
    memcpy(all, fixed->first, fixed->count * sizeof *all);
    for (size_t at = 0; at < count; at++, words += strlen(words) + 1)
        if (at < arguments) line[words_count++] = words;
        else set_variable(all, &variables, words);
    close(go);
    execve(line[0], line, all);
    fprintf(stderr, "cannot start %s: %m\n", line[0]);
    syscall(SYS_exit_group, 127);
    __builtin_unreachable();
}
