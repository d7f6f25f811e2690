/*
 * svc-sentry BUNDLE ID ROOT_UID ROOTFS TOOLS [SOURCE DESTINATION FLAGS]... -- RUNSC FLAG...
 *
 * The binds are those of config.json in the directory BUNDLE, in the same order. Standard input, output and error are the cell's,
 * and so are 3 and 4 if TOOLS is `tools` and not `-`. This process lives as long as the cell, and both processes end with it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "sentry.h"

#define FOR_FILES \
    (BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_FOWNER) | BIT(CAP_FSETID))

static const char *LOG = "runsc.log";

/* Prints the end of runsc's log: its last line says why runsc failed. */
static void say_log(void)
{
    char text[2048];
    int file = open(LOG, O_RDONLY | O_CLOEXEC);
    off_t end = file < 0 ? 0 : lseek(file, 0, SEEK_END);
    off_t from = end > (off_t)sizeof text ? end - (off_t)sizeof text : 0;
    ssize_t count = file < 0 ? 0 : pread(file, text, sizeof text, from);
    if (count > 0 && write(STDERR_FILENO, text, count) < 0) return;
}

static struct cell read_arguments(int count, char **words)
{
    if (count < 8) fail("too few words");
    struct cell cell = { .bundle = words[1], .id = words[2], .root = number(words[3]), .rootfs = words[4] };
    cell.has_tools = !strcmp(words[5], "tools");
    int at = 6;
    for (; at + 2 < count && strcmp(words[at], "--"); at += 3) {
        if (cell.bind_count == BINDS_MAX) fail("too many binds");
        cell.binds[cell.bind_count++] = (struct bind){ words[at], words[at + 1], number(words[at + 2]) };
    }
    if (at + 1 >= count || strcmp(words[at], "--")) fail("malformed words");
    cell.runsc = words + at + 1;
    cell.runsc_count = count - at - 1;
    if (strspn(cell.id, "0123456789abcdefghijklmnopqrstuvwxyz-") != strlen(cell.id)) fail("malformed id");
    return cell;
}

/* The descriptors that only one of the processes gets. */
struct ends {
    int io[BINDS_MAX + 1], mounts, spec, log;
};

/* One connection for the root and for each bind, and a pipe on which the gofer reports what it serves. */
static void connect_both(const struct cell *cell, struct ends *kernel, struct ends *gofer)
{
    int pair[2];
    for (int at = 0; at <= cell->bind_count; at++) {
        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), "connect both");
        kernel->io[at] = pair[0], gofer->io[at] = pair[1];
    }
    must(pipe2(pair, O_CLOEXEC), "make a pipe");
    kernel->mounts = pair[0], gofer->mounts = pair[1];
    struct ends *each[] = { kernel, gofer };
    for (int at = 0; at < 2; at++) {
        must(each[at]->spec = open("config.json", O_RDONLY | O_CLOEXEC), "open config.json");
        must(each[at]->log = open(LOG, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), "open the log");
    }
}

/* Lets runsc inherit a descriptor, and names the descriptor in a flag. */
static void give(struct command *command, const char *flag, int descriptor)
{
    must(fcntl(descriptor, F_SETFD, 0), "pass %s", flag);
    add_word(command, "--%s=%d", flag, descriptor);
}

static void add_common(struct command *command, const struct cell *cell, const struct ends *ends, const char *subcommand)
{
    for (int at = 1; at < cell->runsc_count; at++) add_word(command, "%s", cell->runsc[at]);
    give(command, "log-fd", ends->log);
    give(command, "panic-log-fd", ends->log);
    add_word(command, "%s", subcommand);
    add_word(command, "--bundle=%s", cell->bundle);
    add_word(command, "--apply-caps=false");
    add_word(command, "--setup-root=false");
    for (int at = 0; at <= cell->bind_count; at++) {
        give(command, "io-fds", ends->io[at]);
        add_word(command, "--gofer-mount-confs=lisafs:none");
    }
    give(command, "mounts-fd", ends->mounts);
    give(command, "spec-fd", ends->spec);
}

static void close_ends(const struct cell *cell, const struct ends *ends)
{
    for (int at = 0; at <= cell->bind_count; at++) close(ends->io[at]);
    close(ends->mounts), close(ends->spec), close(ends->log);
}

static pid_t start_gofer(const struct cell *cell, const struct ends *ends, int executable)
{
    struct making gofer = {
        .namespaces = CLONE_NEWIPC | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWUTS,
        .capabilities = FOR_FILES | BIT(CAP_SYS_CHROOT),
        .enter_root = enter_root_of_gofer,
        .executable = executable,
    };
    add_word(&gofer.command, "runsc-gofer");
    add_common(&gofer.command, cell, ends, "gofer");
    pid_t pid = start(cell, &gofer);
    close_ends(cell, ends);
    return pid;
}

/* Passes on the word in brackets, as in `always within_size [never]`. Without this flag runsc takes no huge pages. */
static void add_huge_pages(struct command *command)
{
    char text[128] = "";
    int file = open("/sys/kernel/mm/transparent_hugepage/shmem_enabled", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    if (read(file, text, sizeof text - 1) > 0 && strchr(text, '[') != NULL) {
        char *word = strchr(text, '[') + 1;
        word[strcspn(word, "]")] = '\0';
        add_word(command, "--host-shmem-huge=%s", word);
    }
    close(file);
}

/* The cell's kernel has the process ids of the host, because systrap needs them. */
static pid_t start_kernel(const struct cell *cell, const struct ends *ends, int executable, int server, int ready,
    int ended)
{
    struct making kernel = {
        .namespaces = CLONE_NEWIPC | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS,
        .capabilities = FOR_FILES,
        .enter_root = enter_root_of_kernel,
        .executable = executable,
    };
    struct sysinfo host;
    must(sysinfo(&host), "measure the memory");
    add_word(&kernel.command, "runsc-sandbox");
    add_common(&kernel.command, cell, ends, "boot");
    give(&kernel.command, "controller-fd", server);
    give(&kernel.command, "start-sync-fd", ready);
    must(fcntl(ended, F_SETFD, 0), "pass a descriptor");
    add_word(&kernel.command, "--pass-fd=%d:%d", ended, ENDED);
    for (int stream = 0; stream < 3; stream++)
        give(&kernel.command, "stdio-fds", fcntl(stream, F_DUPFD_CLOEXEC, 3));
    for (int tool = 0; tool < 2 && cell->has_tools; tool++) {
        must(fcntl(TOOLS + tool, F_SETFD, 0), "pass a descriptor");
        add_word(&kernel.command, "--pass-fd=%d:%d", TOOLS + tool, TOOLS + tool);
    }
    add_word(&kernel.command, "--total-memory=%llu", (unsigned long long)host.totalram * host.mem_unit);
    add_word(&kernel.command, "--total-host-memory=%llu", (unsigned long long)host.totalram * host.mem_unit);
    add_word(&kernel.command, "--attached");
    add_huge_pages(&kernel.command);
    pid_t pid = start(cell, &kernel);
    close_ends(cell, ends);
    return pid;
}

int main(int count, char **words)
{
    struct ends kernel_ends, gofer_ends;
    int client, ready[2], ended[2];
    struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
    speaker = "svc-sentry: ", say_more = say_log;
    struct cell cell = read_arguments(count, words);
    close_range(cell.has_tools ? TOOLS + 2 : TOOLS, ~0u, 0);
    /* Only the cell's kernel gets the descriptors for tools. */
    if (cell.has_tools) close_range(TOOLS, TOOLS + 1, CLOSE_RANGE_CLOEXEC);
    must(chdir(cell.bundle), "enter %s", cell.bundle);
    must(setgroups(0, NULL), "leave all groups");
    /* runsc locks memory for a moment when it takes much at once. If this call fails, runsc works without the lock. */
    (void)!setrlimit(RLIMIT_MEMLOCK, &unlimited);
    int executable = open(cell.runsc[0], O_RDONLY | O_CLOEXEC);
    must(executable, "open %s", cell.runsc[0]);
    int server = listen_unnamed(&client);
    must(pipe2(ready, O_CLOEXEC), "make a pipe"), must(pipe2(ended, O_CLOEXEC | O_NONBLOCK), "make a pipe");
    connect_both(&cell, &kernel_ends, &gofer_ends);
    pid_t gofer = start_gofer(&cell, &gofer_ends, executable);
    pid_t kernel = start_kernel(&cell, &kernel_ends, executable, server, ready[1], ended[1]);
    close(ended[1]);
    if (cell.has_tools) close_range(TOOLS, TOOLS + 1, 0);
    /* Only the cell's kernel has the socket now, so that its end also ends the connection. */
    close(server);
    start_program(client, cell.id);
    return wait_for_both(kernel, gofer, ended[0]);
}
