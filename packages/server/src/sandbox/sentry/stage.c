/*
 * svc-stage CELL ROOTFS ROOT_UID SIZE INODES PIPE_BYTES CGROUP_FILE... -- TREE... -- COMMAND...
 *
 * `oci/stage.pl` in C, for cells whose programs use gVisor's kernel. It joins the cell's groups, which then hold
 * everything that it executes, gives the cell its own mount namespace with its file systems, and executes COMMAND. A
 * perl takes longer to start than all of this. It offers and takes pipes like `output/pipes.pl`, and fails in the same
 * way: one line on standard error, and exit code 125.
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
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Descriptors of the service's ends and of the cell's, from standard input on. `output/pipes.ts` knows the first. */
enum { OURS = 20, CELLS = 30 };
enum { PATH_BYTES_MAX = 4096, PIPE_BYTES_MIN = 65536 };

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

static void fail(const char *format, ...)
{
    char text[2 * PATH_BYTES_MAX];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    dprintf(STDERR_FILENO, "svc-stage: %s\n", text);
    _exit(125);
}

static void must(long result, const char *what)
{
    if (result < 0) fail("%s: %m", what);
}

/*
 * A root without CAP_SYS_RESOURCE gets no more than /proc/sys/fs/pipe-max-size allows, so this tries half of it, and so
 * on.
 */
static void widen(int pipe, int bytes)
{
    while (fcntl(pipe, F_SETPIPE_SZ, bytes) < 0 && bytes > PIPE_BYTES_MIN) bytes /= 2;
}

/*
 * Makes the pipes and reports it on the present standard output. A program of another user opens its own ends again by
 * path.
 */
static void offer_pipes(int bytes)
{
    for (int stream = 0; stream < 3; stream++) {
        int ends[2];
        must(pipe(ends), "pipe");
        must(fchmod(ends[0], 0666), "fchmod");
        if (stream != 0) widen(ends[1], bytes);
        must(dup2(ends[stream == 0], OURS + stream), "dup2");
        must(dup2(ends[stream != 0], CELLS + stream), "dup2");
        close(ends[0]), close(ends[1]);
    }
    must(write(STDOUT_FILENO, "pipes\n", 6), "write");
}

/* Waits until the service has opened its ends, then puts the cell's in their places. */
static void take_pipes(void)
{
    char byte;
    if (read(STDIN_FILENO, &byte, 1) != 1) _exit(0); /* The service is gone, so this process ends. */
    for (int stream = 0; stream < 3; stream++) {
        must(dup2(CELLS + stream, stream), "dup2");
        close(OURS + stream), close(CELLS + stream);
    }
}

static void write_file(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) fail("cannot open %s: %m", path);
    if (write(file, text, strlen(text)) < 0) fail("cannot write %s: %m", path);
    close(file);
}

static void mount_at(const char *source, const char *target, const char *type, unsigned long flags, const char *data)
{
    if (mount(source, target, type, flags, data) < 0) fail("mount(%s %s): %m", source, target);
}

/* A path below the directory of the cell. The text is valid until the next call. */
static const char *below(const char *cell, const char *name)
{
    static char path[PATH_BYTES_MAX];
    if (snprintf(path, sizeof path, "%s/%s", cell, name) >= (int)sizeof path) fail("a path is too long: %s", cell);
    return path;
}

static void make_directory(const char *path, mode_t mode, uid_t owner)
{
    if (mkdir(path, mode) < 0 || chmod(path, mode) < 0) fail("cannot make %s: %m", path);
    if (chown(path, owner, owner) < 0) fail("cannot chown %s: %m", path);
}

/* One tmpfs holds everything that a job can write. It bounds the job's files, and ends with this namespace. */
static void make_file_system(const char *cell, uid_t root, const char *size, const char *inodes)
{
    char options[128];
    snprintf(options, sizeof options, "size=%s,nr_inodes=%s,mode=755", size, inodes);
    mount_at("tmpfs", cell, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options);
    make_directory(below(cell, "rootfs"), 0755, 0);
    make_directory(below(cell, "report"), 0700, root);
    make_directory(below(cell, "work"), 0755, root + 1);
    make_directory(below(cell, "work/input"), 0755, 0);
    make_directory(below(cell, "work/output"), 0755, root + 1);
    make_directory(below(cell, "trees"), 0755, 0);
    /* Only the parts that a program may write to allow execution. */
    const char *work = below(cell, "work");
    mount_at(work, work, NULL, MS_BIND, NULL);
    mount_at("none", work, NULL, MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NODEV, NULL);
}

/* Refuses a link, which would show its target in place of the tree. */
static void show(const char *tree, const char *at)
{
    struct stat found;
    if (lstat(tree, &found) < 0) fail("%s is not there", tree);
    if (S_ISLNK(found.st_mode)) fail("%s is a symbolic link", tree);
    if (S_ISDIR(found.st_mode)) {
        make_directory(at, 0755, 0);
        mount_at(tree, at, NULL, MS_BIND | MS_REC, NULL);
        return;
    }
    int file = open(at, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0) fail("cannot make %s: %m", at);
    close(file);
    mount_at(tree, at, NULL, MS_BIND, NULL);
}

/*
 * Sets a filter under which fgetxattr(2) answers EOPNOTSUPP and every other call is unchanged. gVisor calls it on a
 * descriptor that cannot read a symbolic link and passes on the EBADF, which `ls -l` reports as an error.
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

static unsigned long number(const char *word)
{
    char *end;
    unsigned long value = strtoul(word, &end, 10);
    if (*word < '0' || *word > '9' || *end != '\0') fail("not a number: %s", word);
    return value;
}

/* Takes words up to the next `--`, and skips that. */
static char **take_words(char **from, void (*take)(const char *word, int at))
{
    int at = 0;
    for (; *from != NULL && strcmp(*from, "--"); from++) take(*from, at++);
    if (*from == NULL) fail("too few words");
    return from + 1;
}

static const char *cell;

static void join_group(const char *file, int at)
{
    (void)at;
    write_file(file, "0"); /* This process, which has one thread. */
}

static void show_numbered(const char *tree, int at)
{
    char name[32];
    snprintf(name, sizeof name, "trees/%d", at);
    show(tree, below(cell, name));
}

int main(int count, char **words)
{
    char *environment[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL };
    if (count < 10) fail("too few words");
    cell = words[1];
    uid_t root = number(words[3]);
    must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "prctl");
    offer_pipes(number(words[6]));
    char **trees = take_words(words + 7, join_group);
    /* When the host itself runs out of memory, its kernel ends cells and not the service. */
    write_file("/proc/self/oom_score_adj", "1000");
    must(unshare(CLONE_NEWNS), "unshare");
    mount_at("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
    make_file_system(cell, root, words[4], words[5]);
    mount_at(words[2], below(cell, "rootfs"), NULL, MS_BIND, NULL);
    /* In a user namespace the gofer may not remount a locked mount, so the root has no flags of its own. */
    mount_at("none", below(cell, "rootfs"), NULL, MS_BIND | MS_REMOUNT, NULL);
    char **command = take_words(trees, show_numbered);
    must(chdir("/"), "chdir");
    take_pipes();
    hide_attributes();
    execve(command[0], command, environment);
    fail("cannot start %s: %m", command[0]);
}
