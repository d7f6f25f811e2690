/*
 * svc-stage NAME=VALUE... -- COMMAND...
 *
 * Starts one runtime (crun or runsc) for one cell, on the host, before anything untrusted exists. It joins the cell's groups,
 * which then hold everything that it executes. It gives the cell its own mount namespace with its file systems, so that no mount
 * can be left behind on the host. Then it executes COMMAND. The words (`group` and `tree` may come several times):
 *
 *   cell      a directory of the host, which the cell's own file system covers
 *   rootfs    the empty root
 *   root      the host user that is root of the cell; the next one is the job's
 *   work      the options of the cell's own file system: tmpfs(5)
 *   kernel    `host` if programs use the host's kernel: each tree then comes through the cell's own overlay. Through it a
 *             file has an inode that only this cell has. A bind mount shows the host's inodes: a watch (inotify(7)) or a
 *             lock on one of them reveals who else opens it. `own` if programs use another kernel
 *   pipe      the bytes of each pipe of standard output and error; without this word, the kernel's default
 *   tools     `yes`: COMMAND also gets, as 3 and 4, the ends of pipes by which its program gets answers of tools and calls tools
 *   loopback  `up`: the cell gets a network namespace in which `lo` is up. Otherwise the runtime makes the namespace
 *   hide      a mount point to take away
 *   group     a file by which a process joins a group
 *   tree      a directory or a file, shown at `trees/N` in the cell's directory, counted from 0: the runtime gives up
 *             root's view of the host before it mounts, and could not reach a tree below a directory that is closed to
 *             others, such as a data directory
 *
 * It offers and takes pipes like `classes/subprocess/pipes.pl`. Errors go to standard error, in one line, with exit code 125.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "failure.h"
#include "steps.h"

/*
 * Descriptors of the service's ends and of the cell's: standard input, output and error, then tool answers and tool calls.
 * `program/output/pipes.ts` has the same numbers for the service's ends.
 */
static const int OURS[] = { 20, 21, 22, 28, 29 }, CELLS[] = { 30, 31, 32, 33, 34 };
enum { PATH_BYTES_MAX = 4096, PIPE_BYTES_MIN = 65536, LIST_MAX = 256 };

static const unsigned long PLAIN = MS_NOSUID | MS_NODEV;

/* The values that the words give. */
static const char *cell, *rootfs, *work, *hidden, *groups[LIST_MAX], *trees[LIST_MAX];
static int group_count, tree_count, shares_kernel, has_loopback, pipe_bytes, pipe_count = 3;
static uid_t root;

static void add(const char **list, int *count, const char *word)
{
    if (*count == LIST_MAX) fail("too many words");
    list[(*count)++] = word;
}

static void take_word(char *name)
{
    char *value = strchr(name, '=');
    if (value == NULL) fail("malformed word: %s", name);
    *value++ = '\0';
    if (!strcmp(name, "cell")) cell = value;
    else if (!strcmp(name, "rootfs")) rootfs = value;
    else if (!strcmp(name, "root")) root = number(value);
    else if (!strcmp(name, "work")) work = value;
    else if (!strcmp(name, "kernel")) shares_kernel = !strcmp(value, "host");
    else if (!strcmp(name, "pipe")) pipe_bytes = number(value);
    else if (!strcmp(name, "tools")) pipe_count = !strcmp(value, "yes") ? 5 : 3;
    else if (!strcmp(name, "loopback")) has_loopback = !strcmp(value, "up");
    else if (!strcmp(name, "hide")) hidden = value;
    else if (!strcmp(name, "group")) add(groups, &group_count, value);
    else if (!strcmp(name, "tree")) add(trees, &tree_count, value);
    else fail("unknown word: %s", name);
}

/* Returns the command after the words. */
static char **take_words(char **words)
{
    for (; *words != NULL && strcmp(*words, "--"); words++) take_word(*words);
    if (*words == NULL || words[1] == NULL) fail("there is no command");
    if (cell == NULL || rootfs == NULL || work == NULL || root == 0 || group_count == 0) fail("a word is missing");
    return words + 1;
}

/*
 * Root without CAP_SYS_RESOURCE gets no more bytes than /proc/sys/fs/pipe-max-size allows, so this halves the number until the
 * kernel accepts it.
 */
static void widen(int pipe, int bytes)
{
    while (fcntl(pipe, F_SETPIPE_SZ, bytes) < 0 && bytes > PIPE_BYTES_MIN) bytes /= 2;
}

/*
 * Makes the pipes and reports that on the present standard output. All users may open them, because the program's user
 * may open its own ends again by path.
 */
static void offer_pipes(void)
{
    for (int stream = 0; stream < pipe_count; stream++) {
        int ends[2], is_read = stream == 0 || stream == 3, is_output = stream == 1 || stream == 2;
        must(pipe(ends), "make a pipe");
        must(fchmod(ends[0], 0666), "open a pipe to the program");
        if (is_output && pipe_bytes > 0) widen(ends[1], pipe_bytes);
        must(dup2(ends[is_read], OURS[stream]), "keep a pipe");
        must(dup2(ends[!is_read], CELLS[stream]), "keep a pipe");
        close(ends[0]), close(ends[1]);
    }
    must(write(STDOUT_FILENO, "pipes\n", 6), "offer the pipes");
}

/* Waits until the service has opened its ends, then puts the cell's ends in their places. */
static void take_pipes(void)
{
    char byte;
    if (read(STDIN_FILENO, &byte, 1) != 1) _exit(0); /* The service is gone, so this process ends. */
    for (int stream = 0; stream < pipe_count; stream++) {
        must(dup2(CELLS[stream], stream), "take a pipe");
        close(OURS[stream]), close(CELLS[stream]);
    }
}

/* A path below the directory of the cell. The text is valid until the fourth call after this one. */
static const char *below(const char *format, ...)
{
    static char paths[4][PATH_BYTES_MAX];
    static int turn;
    char name[PATH_BYTES_MAX / 2], *path = paths[turn = (turn + 1) % 4];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(name, sizeof name, format, values);
    va_end(values);
    if (length >= (int)sizeof name || snprintf(path, PATH_BYTES_MAX, "%s/%s", cell, name) >= PATH_BYTES_MAX)
        fail("a path is too long: %s", cell);
    return path;
}

static void lay_over(const char *layer, const char *at, unsigned long flags)
{
    overlay(layer, at, flags, below("nothing"));
}

/* One tmpfs holds everything that a job can write. It bounds the job's files, and ends with this namespace. */
static void make_file_system(void)
{
    must(mount("tmpfs", cell, "tmpfs", PLAIN | MS_NOEXEC, work), "mount %s", cell);
    make_directory(below("rootfs"), 0755, 0);
    make_directory(below("report"), 0700, root);
    make_directory(below("work"), 0755, root + 1);
    make_directory(below("work/input"), 0755, 0);
    make_directory(below("work/output"), 0755, root + 1);
    make_directory(below("trees"), 0755, 0);
    make_directory(below("nothing"), 0755, 0);
    /* Only the parts that a program may write to allow execution. */
    bind_mount(below("work"), below("work"), PLAIN);
}

/* In a user namespace the gofer may not remount a locked mount, so its root has no flags of its own. */
static void show_root(void)
{
    if (!shares_kernel) return bind_mount(rootfs, below("rootfs"), 0);
    lay_over(rootfs, below("rootfs"), PLAIN);
    lay_over("/dev", "/dev", MS_NOSUID | MS_NOEXEC); /* The runtime takes the devices of the cell from there. */
}

/* An overlay has only directories, so a file is shown through an overlay of its directory. */
static const char *file_of_overlay(const char *file, int number)
{
    char directory[PATH_BYTES_MAX];
    const char *name = strrchr(file, '/'), *at = below("trees/%d.directory", number);
    if (name == NULL || name - file + 2 > PATH_BYTES_MAX) fail("%s is not an absolute path", file);
    snprintf(directory, sizeof directory, "%.*s/", (int)(name - file), file);
    make_directory(at, 0755, 0);
    lay_over(directory, at, PLAIN);
    return below("trees/%d.directory%s", number, name);
}

static void show_tree(const char *tree, int number)
{
    struct stat found;
    const char *at = below("trees/%d", number);
    must(lstat(tree, &found), "find %s", tree);
    /* Refuses a link, which would show its target in place of the tree. */
    if (S_ISLNK(found.st_mode)) fail("%s is a symbolic link", tree);
    if (!S_ISDIR(found.st_mode)) {
        must(mknod(at, S_IFREG | 0644, 0), "make %s", at);
        const char *file = shares_kernel ? file_of_overlay(tree, number) : tree;
        must(mount(file, below("trees/%d", number), NULL, MS_BIND, NULL), "show %s", tree);
        return;
    }
    make_directory(at, 0755, 0);
    if (shares_kernel) lay_over(tree, at, PLAIN);
    else must(mount(tree, at, NULL, MS_BIND | MS_REC, NULL), "show %s", tree);
}

/*
 * Sets a filter under which fgetxattr(2) answers EOPNOTSUPP and every other call is unchanged. gVisor makes this call with a
 * descriptor that cannot read a symbolic link, and passes on the error EBADF, which `ls -l` then reports.
 */
static void hide_attributes(void)
{
#if defined(__x86_64__)
    enum { HERE = AUDIT_ARCH_X86_64 };
#elif defined(__aarch64__)
    enum { HERE = AUDIT_ARCH_AARCH64 };
#endif
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, HERE, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fgetxattr, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = sizeof filter / sizeof *filter, .filter = filter };
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), "hide attributes");
}

int main(int count, char **words)
{
    char *environment[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL };
    (void)count;
    speaker = "svc-stage: ";
    char **command = take_words(words + 1);
    /* The runtime that this process becomes, runsc's sandbox, and process 1 of a crun cell also ask for this signal. */
    must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "end with the service");
    mode_t before = umask(0); /* Files made here get exactly the given modes. */
    offer_pipes();
    for (int at = 0; at < group_count; at++) write_file(groups[at], "0"); /* 0 stands for this process, which has one thread. */
    prefer_for_killing();
    must(unshare(CLONE_NEWNS | (has_loopback ? CLONE_NEWNET : 0)), "unshare namespaces");
    must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "make mounts private");
    if (hidden != NULL) must(umount2(hidden, MNT_DETACH), "hide %s", hidden);
    make_file_system();
    show_root();
    for (int at = 0; at < tree_count; at++) show_tree(trees[at], at);
    must(chdir("/"), "enter /");
    if (has_loopback) bring_up_loopback();
    take_pipes();
    umask(before);
    if (!shares_kernel) hide_attributes();
    execve(command[0], command, environment);
    fail("cannot start %s: %m", command[0]);
}
