/* The configuration: each line has a keyword and a word, and a tab between two parts of the word. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher.h"

enum { TEXT_BYTES_MAX = 256 * 1024 };

/* Reads to the end. The text is kept for the life of the process, because the configuration points into it. */
char *read_configuration(int descriptor)
{
    char *text = malloc(TEXT_BYTES_MAX + 1);
    size_t length = 0;
    for (;;) {
        ssize_t count = read(descriptor, text + length, TEXT_BYTES_MAX - length);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail("cannot read the configuration: %m");
        if (count == 0) break;
        length += count;
        if (length == TEXT_BYTES_MAX) fail("the configuration is too long");
    }
    text[length] = '\0';
    return text;
}

static void add(struct words *words, char *rest)
{
    if (words->count == WORDS_MAX - 1) fail("the configuration has too many lines of a kind");
    char *tab = strchr(rest, '\t');
    if (tab != NULL) *tab = '\0';
    words->first[words->count] = rest;
    words->second[words->count] = tab == NULL ? NULL : tab + 1;
    words->count++;
}

/* `FLAGS SOURCE<tab>DESTINATION` */
static void add_tree(struct configuration *into, char *rest)
{
    char *source, *tab = strchr(rest, '\t');
    unsigned long flags = strtoul(rest, &source, 10);
    if (tab == NULL || *source != ' ') fail("the configuration has a malformed tree");
    *tab = '\0';
    into->trees = realloc(into->trees, (into->tree_count + 1) * sizeof *into->trees);
    into->trees[into->tree_count++] = (struct tree){ .flags = flags, .source = source + 1, .destination = tab + 1 };
}

/* `FIRST COUNT` */
static void add_users(struct configuration *into, const char *rest)
{
    if (sscanf(rest, "%u %u", &into->users_first, &into->users_count) != 2) fail("the configuration has malformed users");
}

static void take(struct configuration *into, const char *keyword, char *rest)
{
    if (!strcmp(keyword, "group")) add(&into->groups, rest);
    else if (!strcmp(keyword, "group2")) into->is_group_v2 = 1, add(&into->groups, rest);
    else if (!strcmp(keyword, "look")) add(&into->look, rest);
    else if (!strcmp(keyword, "usage")) add(&into->usage, rest);
    else if (!strcmp(keyword, "count")) into->count = rest;
    else if (!strcmp(keyword, "rootfs")) into->rootfs = rest;
    else if (!strcmp(keyword, "tree")) add_tree(into, rest);
    else if (!strcmp(keyword, "mask")) add(&into->masked, rest);
    else if (!strcmp(keyword, "readonly")) add(&into->read_only, rest);
    else if (!strcmp(keyword, "limit")) add(&into->limits, rest);
    else if (!strcmp(keyword, "rule")) add(&into->rules, rest);
    else if (!strcmp(keyword, "otherwise")) into->otherwise = atoi(rest);
    else if (!strcmp(keyword, "compiler")) add(&into->compiler, rest);
    else if (!strcmp(keyword, "environment")) add(&into->environment, rest);
    else if (!strcmp(keyword, "argument")) add(&into->arguments, rest);
    else if (!strcmp(keyword, "mount")) add(&into->mounts, rest);
    else if (!strcmp(keyword, "workflags")) into->work_flags = strtoul(rest, NULL, 10);
    else if (!strcmp(keyword, "work")) into->work_size = rest;
    else if (!strcmp(keyword, "mapping")) into->has_one_user = !strcmp(rest, "one");
    else if (!strcmp(keyword, "devices")) into->shows_devices = !strcmp(rest, "shown");
    else if (!strcmp(keyword, "loopback")) into->has_loopback = 1;
    else if (!strcmp(keyword, "execute")) into->executes_late = !strcmp(rest, "late");
    else if (!strcmp(keyword, "library")) into->library = rest;
    else if (!strcmp(keyword, "template")) into->template_cell = rest;
    else if (!strcmp(keyword, "users")) add_users(into, rest);
    else fail("the configuration has an unknown keyword: %s", keyword);
}

/* Cuts the text into lines in place. */
struct configuration *parse_configuration(char *text)
{
    struct configuration *configuration = calloc(1, sizeof *configuration);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *rest = strchr(line, ' ');
        if (rest == NULL) fail("the configuration has a line without a value: %s", line);
        *rest++ = '\0';
        take(configuration, line, rest);
    }
    return configuration;
}

void require_complete(const struct configuration *configuration)
{
    if ((configuration->groups.count == 0) != (configuration->count == NULL) || configuration->rootfs == NULL ||
        configuration->arguments.count == 0 || configuration->work_size == NULL || configuration->otherwise <= 0 ||
        (configuration->library != NULL && (configuration->template_cell == NULL || configuration->users_count == 0)))
        fail("the configuration is not complete");
}
