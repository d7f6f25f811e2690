/*
 * The launcher's own root: the empty root of all cells with the pack's trees bound into it, read-only, in its own mount
 * namespace. From the host it keeps /proc, for the mappings of cells, and in TREES the directories under the overlays
 * of cells. None of this is visible in a cell.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher.h"

/* The bits of mount_setattr(2) for read-only, nosuid, nodev and noexec are those of mount(2). */
static void show(const char *source, const char *destination, unsigned long flags)
{
    int tree = syscall(SYS_open_tree, AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    struct mount_attr attributes = { .attr_set = flags };
    must(tree, "open the tree %s", source);
    must(syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes),
        "set the flags of %s", source);
    must(syscall(SYS_move_mount, tree, "", AT_FDCWD, destination, MOVE_MOUNT_F_EMPTY_PATH), "show %s", destination);
    close(tree);
}

/* A layer is a directory, so a tree that is a file is shown through its directory. */
static void keep_layer(struct tree *tree, int number)
{
    char directory[PATH_BYTES_MAX], at[64];
    struct stat status;
    must(lstat(tree->source, &status), "find %s", tree->source);
    /* Refuses a link, which would show its target in place of the tree. */
    if (S_ISLNK(status.st_mode)) fail("%s is a symbolic link", tree->source);
    snprintf(directory, sizeof directory, "%s", tree->source);
    if (!S_ISDIR(status.st_mode)) {
        char *name = strrchr(directory, '/');
        if (name == NULL) fail("%s is not an absolute path", tree->source);
        *name = '\0';
        tree->name = strdup(name + 1);
    }
    snprintf(at, sizeof at, "%s/%d", TREES + 1, number);
    make_directory(at, 0755, 0);
    show(directory[0] == '\0' ? "/" : directory, at, MS_RDONLY | MS_NOSUID | MS_NODEV);
}

/* The devices are mounted on empty files. */
static void keep_devices(void)
{
    make_directory(DEVICES + 1, 0755, 0);
    for (int at = 0; at < device_count; at++) {
        char source[64], path[64];
        snprintf(source, sizeof source, "/dev/%s", devices[at].name);
        snprintf(path, sizeof path, "%s/%s", DEVICES + 1, devices[at].name);
        must(mknod(path, S_IFREG | 0444, 0), "make %s", path);
        show(source, path, MS_RDONLY | MS_NOSUID | MS_NOEXEC);
    }
}

/* The file system flags at this path that a mount must keep: no user namespace may take them away. */
static unsigned long forbidden_below(const char *path)
{
    struct statvfs found;
    must(statvfs(path, &found), "look at %s", path);
    return found.f_flag & ST_NOEXEC ? MS_NOEXEC : 0;
}

void enter_root(const struct configuration *configuration)
{
    const unsigned long flags = MS_RDONLY | MS_NOSUID | MS_NODEV | forbidden_below(configuration->rootfs);
    must(unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS), "unshare namespaces");
    must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "make private /");
    must(mount(configuration->rootfs, configuration->rootfs, NULL, MS_BIND, NULL), "bind %s", configuration->rootfs);
    must(chdir(configuration->rootfs), "enter %s", configuration->rootfs);
    must(mount("tmpfs", "tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=64k,mode=755"), "mount /tmp");
    make_directory(CELL + 1, 0755, 0);
    make_directory(TREES + 1, 0755, 0);
    if (configuration->shows_devices) keep_devices();
    for (int at = 0; at < configuration->tree_count; at++) {
        struct tree *tree = &configuration->trees[at];
        keep_layer(tree, at);
        show(tree->source, tree->destination + 1, tree->flags);
    }
    /* Binds /proc with all that is mounted in it: a user namespace may not separate these mounts. */
    must(mount("/proc", "proc", NULL, MS_BIND | MS_REC, NULL), "bind /proc");
    must(mount(NULL, ".", NULL, MS_BIND | MS_REMOUNT | flags, NULL), "make read-only /");
    must(syscall(SYS_pivot_root, ".", "."), "change to %s", configuration->rootfs);
    must(umount2(".", MNT_DETACH), "leave the host's root");
    must(chdir("/"), "enter /");
}
