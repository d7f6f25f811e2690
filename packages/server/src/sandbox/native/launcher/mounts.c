/*
 * The file systems of one cell. Every tree of the host comes through the cell's own read-only overlay. No other cell
 * shares its inodes, so no watch (inotify(7)) and no lock on one of them reveals anything about another cell or the
 * host.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "launcher.h"

#define ROOT CELL "/root"
/* The empty first layer of every overlay. */
#define NOTHING CELL "/nothing"
/* COVER covers kernel files, and EMPTY covers kernel directories. No program can enter the directory REPORT. */
#define REPORT "/svc/report"
#define EMPTY REPORT "/empty"
#define COVER REPORT "/cover"

static void show_tree(const struct tree *tree, int number)
{
    char layer[64], destination[PATH_BYTES_MAX], file[PATH_BYTES_MAX];
    snprintf(layer, sizeof layer, TREES "/%d", number);
    snprintf(destination, sizeof destination, ROOT "%s", tree->destination);
    if (tree->name == NULL) return overlay(layer, destination, tree->flags, NOTHING);
    snprintf(file, sizeof file, CELL "/layers/%d", number);
    make_directory(file, 0755, 0);
    overlay(layer, file, tree->flags, NOTHING);
    snprintf(file, sizeof file, CELL "/layers/%d/%s", number, tree->name);
    bind_mount(file, destination, MS_RDONLY | tree->flags);
}

/*
 * One tmpfs holds everything that a job can write below /work. It bounds the job's files, and ends with the last
 * process of the cell.
 */
static void make_cell_directory(const struct configuration *configuration, uid_t root)
{
    uid_t user = configuration->has_one_user ? root : root + 1;
    must(mount("tmpfs", CELL, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, configuration->work_size), "mount " CELL);
    make_directory(NOTHING, 0755, 0);
    make_directory(CELL "/layers", 0755, 0);
    make_directory(CELL "/root", 0755, 0);
    make_directory(CELL "/report", 0700, root);
    make_directory(CELL "/report/empty", 0555, 0);
    must(mknod(CELL "/report/cover", S_IFREG | 0444, 0), "make a cover");
    make_directory(CELL "/groups", 0755, 0);
    make_directory(CELL "/work", 0755, user);
    make_directory(CELL "/work/input", 0755, 0);
    make_directory(CELL "/work/output", 0755, user);
    /* The service writes inputs through this descriptor, because `/work/input` is read-only inside the cell. */
    int files = open(CELL, O_PATH | O_DIRECTORY | O_CLOEXEC);
    must(files, "open " CELL);
    must(dup2(files, FILES), "keep " CELL);
    close(files);
}

static void bind_work(const struct configuration *configuration)
{
    const unsigned long flags = MS_NOSUID | MS_NODEV | configuration->work_flags;
    /* If the program's user owns the report, the report is read-only. Process 1 then reports to the launcher instead. */
    bind_mount(CELL "/report", ROOT REPORT, MS_NOSUID | MS_NODEV | MS_NOEXEC | (configuration->has_one_user ? MS_RDONLY : 0));
    bind_mount(CELL "/groups", ROOT "/sys/fs/cgroup", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY);
    bind_mount(CELL "/work", ROOT "/work", flags);
    bind_mount(CELL "/work/input", ROOT "/work/input", flags | MS_RDONLY | MS_NOEXEC);
}

/* After this the launcher's root, with the host's /proc, is no longer visible. */
static void change_root(void)
{
    must(chdir(ROOT), "enter " ROOT);
    must(syscall(SYS_pivot_root, ".", "."), "change to " ROOT);
    must(umount2(".", MNT_DETACH), "leave the launcher's root");
    must(chdir("/"), "enter /");
}

const struct device devices[] = {
    { "null", 1, 3 }, { "zero", 1, 5 }, { "full", 1, 7 }, { "random", 1, 8 }, { "urandom", 1, 9 }, { "tty", 5, 0 },
};
const int device_count = sizeof devices / sizeof *devices;

static const char *const LINKS[][2] = {
    { "/proc/self/fd", "/dev/fd" },
    { "/proc/self/fd/0", "/dev/stdin" },
    { "/proc/self/fd/1", "/dev/stdout" },
    { "/proc/self/fd/2", "/dev/stderr" },
    { "pts/ptmx", "/dev/ptmx" },
};

/* The host's devices, if they are shown. They are taken while the launcher's root is in sight, and put into the cell's /dev. */
static int shown[sizeof devices / sizeof *devices];

static void take_devices(void)
{
    for (int at = 0; at < device_count; at++) {
        char path[64];
        snprintf(path, sizeof path, DEVICES "/%s", devices[at].name);
        shown[at] = syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        must(shown[at], "take %s", path);
    }
}

static void put_device(const char *path, int device)
{
    must(mknod(path, S_IFREG | 0444, 0), "make %s", path);
    must(syscall(SYS_move_mount, device, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH), "show %s", path);
    close(device);
}

static void fill_devices(int are_shown)
{
    for (int at = 0; at < device_count; at++) {
        char path[64];
        snprintf(path, sizeof path, "/dev/%s", devices[at].name);
        if (are_shown) put_device(path, shown[at]);
        else must(mknod(path, S_IFCHR | 0666, makedev(devices[at].major, devices[at].minor)), "make %s", path);
    }
    for (size_t at = 0; at < sizeof LINKS / sizeof *LINKS; at++)
        must(symlink(LINKS[at][0], LINKS[at][1]), "make %s", LINKS[at][1]);
}

/* Mounts `TYPE FLAGS OPTIONS` at a path, which may have to be made in one of the cell's own file systems. */
static void mount_file_system(const char *path, const char *words)
{
    char type[16], options[128] = "";
    unsigned long flags;
    if (sscanf(words, "%15s %lu %127s", type, &flags, options) < 2) fail("malformed mount of %s", path);
    if (mkdir(path, 0755) != 0 && errno != EEXIST && errno != EROFS) fail("cannot make %s: %m", path);
    must(mount(type, path, type, flags, options), "mount %s", path);
}

/*
 * Mounts the cell's /proc first, while the launcher's /proc is in sight: the kernel lets a user namespace make a /proc only if
 * another one is visible there. Changes to the cell's root.
 */
static void mount_file_systems(const struct configuration *configuration)
{
    const struct words *mounts = &configuration->mounts;
    for (int at = 0; at < mounts->count; at++)
        if (!strcmp(mounts->first[at], "/proc")) mount_file_system(ROOT "/proc", mounts->second[at]);
    change_root();
    for (int at = 0; at < mounts->count; at++) {
        if (!strcmp(mounts->first[at], "/proc")) continue;
        mount_file_system(mounts->first[at], mounts->second[at]);
        if (!strcmp(mounts->first[at], "/dev")) fill_devices(configuration->shows_devices);
    }
    /* In a cell of one user, the program's user owns /dev, so /dev becomes read-only. The mounts below it stay as they are. */
    if (configuration->has_one_user)
        must(mount(NULL, "/dev", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NOEXEC, NULL), "make read-only /dev");
}

/* Lists the cell's /proc: for each name a slash, `d` for a directory, else `f`, and the name; then a slash. */
static const char *list_processes_directory(void)
{
    static char names[16384];
    size_t length = 0;
    DIR *directory = opendir("/proc");
    if (directory == NULL) fail("cannot list /proc: %m");
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (length + strlen(entry->d_name) + 4 > sizeof names) fail("cannot list /proc: it has too many names");
        length += sprintf(names + length, "/%c%s", entry->d_type == DT_DIR ? 'd' : 'f', entry->d_name);
    }
    names[length] = '/';
    names[length + 1] = '\0';
    closedir(directory);
    return names;
}

/*
 * The kind of a path: 'd' for a directory, 'f' for anything else, 0 if it does not exist. Looking up every name that
 * this kernel lacks costs ten times as much as the list of /proc. The list is read for each cell, because a kernel
 * module may add a name.
 */
static char kind_of(const char *path, const char *listed)
{
    struct stat status;
    char name[PATH_BYTES_MAX];
    if (strncmp(path, "/proc/", 6) || strchr(path + 6, '/') != NULL)
        return lstat(path, &status) != 0 ? 0 : S_ISDIR(status.st_mode) ? 'd' : 'f';
    for (const char *kind = "df"; *kind != '\0'; kind++) {
        snprintf(name, sizeof name, "/%c%s/", *kind, path + 6);
        if (strstr(listed, name) != NULL) return *kind;
    }
    return 0;
}

/* Covers a file with `cover`, a directory with `empty`. The first covered directory becomes read-only, and covers all others. */
static void mask(const char *path, char kind, const char *cover, const char **empty)
{
    if (kind == 'f') must(mount(cover, path, NULL, MS_BIND, NULL), "mask %s", path);
    else if (strcmp(*empty, EMPTY)) must(mount(*empty, path, NULL, MS_BIND, NULL), "mask %s", path);
    else bind_mount(EMPTY, path, MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC), *empty = path;
}

void make_mounts(const struct configuration *configuration, uid_t root)
{
    umask(0); /* Files made here get exactly the given modes; the interpreter sets its own. */
    make_cell_directory(configuration, root);
    overlay("/", ROOT, MS_NOSUID | MS_NODEV, NOTHING);
    for (int at = 0; at < configuration->tree_count; at++) show_tree(&configuration->trees[at], at);
    bind_work(configuration);
    if (configuration->shows_devices) take_devices();
    mount_file_systems(configuration);
}

void make_own_proc(const struct configuration *configuration)
{
    const struct words *mounts = &configuration->mounts;
    for (int at = 0; at < mounts->count; at++)
        if (!strcmp(mounts->first[at], "/proc")) mount_file_system("/proc", mounts->second[at]);
}

void cover_kernel_files(const struct configuration *configuration)
{
    /* If /dev/null is the host's, it is an inode that cells would share. */
    const char *empty = EMPTY, *cover = configuration->shows_devices ? COVER : "/dev/null";
    const char *listed = list_processes_directory();
    for (int at = 0; at < configuration->read_only.count; at++) {
        const char *path = configuration->read_only.first[at];
        if (kind_of(path, listed) != 0) bind_mount(path, path, MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC);
    }
    /* Masked last, because the mount that makes /proc/sys read-only would cover masks below it. */
    for (int at = 0; at < configuration->masked.count; at++) {
        const char *path = configuration->masked.first[at];
        char kind = kind_of(path, listed);
        if (kind != 0) mask(path, kind, cover, &empty);
    }
}
