/*
 * Starts the two processes of a gVisor cell, its kernel (the sentry) and its file server (the gofer), as `runsc run` of
 * release 20240729 does. `runsc run` starts runsc seven times for a cell: itself, each of the two twice to give up
 * privileges, and twice to remove a mount. This program makes the namespaces, roots and privileges itself, and starts
 * runsc twice.
 *
 *   main.c       arguments, and the two processes
 *   process.c    a process in its own namespaces and user mapping, with few capabilities, that executes runsc
 *   roots.c      what each of the two sees of the host
 *   control.c    the requests to the kernel before it runs anything
 *   ending.c     the end of both
 *   stage.c      a separate program that executes this one: groups, mounts and pipes of a cell
 *   filter.c     a separate program: makes the system call filter, once for all cells
 *
 * Every failure ends the cell with one line on standard error.
 */
#ifndef SENTRY_H
#define SENTRY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../failure.h"
#include "../steps.h"

enum { BINDS_MAX = 64, WORDS_MAX = 128, WORD_BYTES_MAX = 4096 };

/* The report of process 1 is one line that always has this length. */
enum { REPORT_BYTES = 64 };

/* The descriptor on which process 1 signals that it has reported the end. */
enum { ENDED = 9 };

/* Where a cell has tools, this descriptor and the next are passed to process 1. */
enum { TOOLS = 3 };

/* A directory or a file of the host, and the path at which the gofer serves it. `flags` are those of mount(2) besides MS_BIND. */
struct bind {
    const char *source, *destination;
    unsigned long flags;
};

/* What to start. `runsc` and the words after it are the command up to runsc's own subcommand. */
struct cell {
    const char *bundle;        /* directory of config.json, which becomes the working directory */
    const char *id;
    uid_t root;                /* host user that is root of the cell; the next one is the job's */
    const char *rootfs;
    struct bind binds[BINDS_MAX];
    int bind_count;
    int has_tools;
    char **runsc;
    int runsc_count;
};

/* The words of a command, whose text lives as long as the process. */
struct command {
    char *words[WORDS_MAX];
    int count;
};

/* How to make a process: its namespaces (clone(2)), its capabilities, and what it sees. */
struct making {
    unsigned long namespaces;
    uint64_t capabilities;     /* one bit for each */
    void (*enter_root)(const struct cell *cell);
    struct command command;
    int executable;            /* descriptor of runsc */
    int unmounted;             /* descriptor on which runsc says that /proc can be unmounted */
};

void add_word(struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
pid_t start(const struct cell *cell, struct making *making);

void enter_root_of_gofer(const struct cell *cell);
void enter_root_of_kernel(const struct cell *cell);

/* A listening socket that already has its connection. `client` is the client's end. */
int listen_unnamed(int *client);
void start_program(int client, const char *id);

int wait_for_both(pid_t kernel, pid_t gofer, int word);

#endif
