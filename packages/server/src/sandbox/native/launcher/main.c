/*
 * The service starts this program as root of the host, with the configuration on descriptor 3, and the protocol that serve.c
 * describes on 0 and 1. It is linked statically and loads no library of the host.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher.h"

static void keep(int descriptor, int as)
{
    if (dup2(descriptor, as) < 0) fail("cannot keep a descriptor: %m");
    close(descriptor);
}

/* The library is on the host, whose files are about to be out of sight. So the library is loaded from memory. */
static int library_of(const char *path)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC), copy = memfd_create("launcher.so", 0);
    if (file < 0 || copy < 0 || fstat(file, &status) != 0) fail("cannot open %s: %m", path);
    for (off_t done = 0; done < status.st_size;)
        if (sendfile(copy, file, &done, status.st_size - done) <= 0) fail("cannot read %s: %m", path);
    close(file);
    return copy;
}

/* The version changes whenever the launcher's cells change, because receipts name it. */
#define VERSION "3"

int main(int count, char **words)
{
    if (count == 2 && !strcmp(words[1], "--version")) return puts("svc-launcher version " VERSION) < 0;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) fail("cannot end with the service: %m");
    reset_signals();
    struct configuration *configuration = parse_configuration(read_configuration(3));
    require_complete(configuration);
    configuration->filter = make_filter(&configuration->rules, configuration->otherwise, NULL, 0);
    open_groups(configuration);
    if (configuration->library != NULL) {
        configuration->template_filter = make_filter(&configuration->rules, configuration->otherwise, "setns", 0);
        keep(library_of(configuration->library), LIBRARY);
    }
    enter_root(configuration);
    prepare_cells();
    if (configuration->library != NULL) make_template(configuration);
    /* Lists a directory as each cell does, so that malloc(3) sorts its free memory once, and not on each cell's copied pages. */
    closedir(opendir("/"));
    serve_cells(configuration);
}
