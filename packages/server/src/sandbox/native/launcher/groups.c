/*
 * The cells' control groups: directories named by the id of the cell, below each directory in the configuration. The service
 * decides which files are written and read there, and states them in its requests. Every path consists of a group's name and a
 * file's name, below a directory that was opened before any cell was made.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher.h"

/* Opens the directories before the host's paths are out of sight, and keeps them open. */
void open_groups(const struct configuration *configuration)
{
    if (configuration->groups.count > GROUPS_MAX) fail("the configuration names too many groups");
    for (int at = 0; at < configuration->groups.count; at++) {
        int directory = open(configuration->groups.first[at], O_PATH | O_DIRECTORY);
        if (directory < 0) fail("cannot open the groups in %s: %m", configuration->groups.first[at]);
        if (directory == GROUPS_FIRST + at) continue;
        if (dup2(directory, GROUPS_FIRST + at) < 0) fail("cannot keep %s: %m", configuration->groups.first[at]);
        close(directory);
    }
}

int open_group_v2(const char *id)
{
    return openat(GROUPS_FIRST, id, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int make_groups(const struct configuration *configuration, const char *id)
{
    for (int at = 0; at < configuration->groups.count; at++) {
        if (mkdirat(GROUPS_FIRST + at, id, 0755) == 0) continue;
        int error = errno;
        while (at-- > 0) unlinkat(GROUPS_FIRST + at, id, AT_REMOVEDIR);
        errno = error;
        return -1;
    }
    return 0;
}

int remove_groups(const struct configuration *configuration, const char *id)
{
    int left = 0;
    for (int at = 0; at < configuration->groups.count; at++)
        if (unlinkat(GROUPS_FIRST + at, id, AT_REMOVEDIR) != 0 && errno != ENOENT) left = -1;
    return left;
}

/* Opens a file of a group. Opening it changes nothing. */
static int open_file(const char *id, unsigned group, const char *name, int flags)
{
    char path[ID_BYTES_MAX + ACCESS_BYTES_MAX + 2];
    if (group >= GROUPS_MAX || name[0] == '.' || strchr(name, '/') != NULL) {
        errno = EINVAL;
        return -1;
    }
    snprintf(path, sizeof path, "%s/%s", id, name);
    return openat(GROUPS_FIRST + group, path, flags | O_NOFOLLOW | O_CLOEXEC);
}

static int write_value(const char *id, unsigned group, const char *name, const char *value)
{
    ssize_t length = strlen(value);
    int file = open_file(id, group, name, O_WRONLY);
    if (file < 0) return -1;
    ssize_t written = write(file, value, length);
    int error = errno;
    close(file);
    errno = error;
    return written == length ? 0 : -1;
}

static int read_file(struct report *report, const char *id, unsigned group, const char *name)
{
    int file = open_file(id, group, name, O_RDONLY);
    if (file < 0) return -1;
    char section[ACCESS_BYTES_MAX + 16];
    snprintf(section, sizeof section, "%u/%s", group, name);
    begin_section(report, section);
    int result = add_contents(report, file);
    close(file);
    return result;
}

int access_groups(const char *id, const char *words, struct report *report)
{
    char word[ACCESS_BYTES_MAX], name[ACCESS_BYTES_MAX];
    int length;
    for (; sscanf(words, " %95s%n", word, &length) == 1; words += length) {
        unsigned group;
        char *value = strchr(word, '=');
        if (value != NULL) *value++ = '\0';
        if (sscanf(word, "%u/%95s", &group, name) != 2) fail("the service sent a malformed access: %s", word);
        if ((value == NULL ? read_file(report, id, group, name) : write_value(id, group, name, value)) != 0) return -1;
    }
    return 0;
}

/*
 * Reads the kernel's own count, and does not rely on the cell. Process 1 is counted until the launcher has waited for it. In
 * cgroup v1, listing the group instead would make a list that the kernel keeps for a second and then frees in a worker.
 */
int is_alone(const struct configuration *configuration, const char *id)
{
    unsigned group;
    char counted[32] = "", name[ACCESS_BYTES_MAX];
    /* Without groups no count is needed: all processes end with process 1, and the kernel ends it only after all others. */
    if (configuration->count == NULL) return 0;
    if (sscanf(configuration->count, "%u/%95s", &group, name) != 2) fail("the configuration has a malformed access");
    int file = open_file(id, group, name, O_RDONLY);
    if (file < 0) return 0;
    ssize_t count = read(file, counted, sizeof counted - 1);
    close(file);
    return count > 0 && !strcmp(counted, "1\n");
}
