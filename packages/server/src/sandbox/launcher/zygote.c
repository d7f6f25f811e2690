/* What a zygote loads: the launcher as a library, configured by what main.c left at known descriptors. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher.h"

/* Which trees are files, as root.c found: the zygote sees them where a cell does. */
static void find_files(struct configuration *configuration)
{
    struct stat status;
    for (int at = 0; at < configuration->tree_count; at++) {
        struct tree *tree = &configuration->trees[at];
        if (stat(tree->destination, &status) != 0) fail("cannot find %s: %m", tree->destination);
        if (!S_ISDIR(status.st_mode)) tree->name = strrchr(tree->source, '/') + 1;
    }
}

/* Returns in the interpreter of a cell, and nowhere else. */
int serve_as_zygote(void)
{
    struct stat status;
    struct configuration *configuration = parse_configuration(read_configuration(CONFIGURATION));
    if (fstat(FILTER, &status) != 0) fail("there is no filter: %m");
    configuration->filter.len = status.st_size / sizeof(struct sock_filter);
    configuration->filter.filter = malloc(status.st_size);
    if (pread(FILTER, configuration->filter.filter, status.st_size, 0) != status.st_size) fail("cannot read the filter: %m");
    close(CONFIGURATION), close(FILTER), close(LIBRARY);
    find_files(configuration);
    leave_executable();
    return serve_cells(configuration);
}
