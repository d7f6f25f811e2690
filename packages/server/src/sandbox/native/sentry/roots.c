/*
 * What the two processes see of the host. Each gets its own root, which has /proc until the process has set its filter.
 * The kernel's root has nothing else; the gofer's has the trees of the cell below /root.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sentry.h"

static const unsigned long BARE = MS_NOSUID | MS_NODEV | MS_NOEXEC;

/* Builds the root on one of the host's directories. The root covers that directory in this namespace alone. */
static void make_root(const char *at)
{
    must(mount("", "/", NULL, MS_SLAVE | MS_REC, NULL), "keep mounts apart");
    must(mount("svc-root", at, "tmpfs", BARE, "size=64k,mode=755"), "mount a root");
    must(mount("", at, NULL, MS_UNBINDABLE, NULL), "keep the root apart");
    must(chdir(at), "enter the root");
    must(mkdir("proc", 0755), "make proc");
    must(mount("/proc", "proc", NULL, MS_BIND | MS_REC, NULL), "bind /proc");
}

static void enter(void)
{
    must(syscall(SYS_pivot_root, ".", "."), "change the root");
    must(umount2(".", MNT_DETACH), "leave the host's root");
    must(chdir("/"), "enter the root");
}

static void remount(const char *at, unsigned long flags, const char *what)
{
    must(mount("", at, NULL, MS_BIND | MS_REMOUNT | flags, NULL), "%s", what);
}

/* Flags with which the host made a mount are locked here, and cannot be left out. mount_namespaces(7) */
static unsigned long flags_of(const char *at)
{
    struct statvfs now;
    must(statvfs(at, &now), "look at %s", at);
    return now.f_flag & (MS_RDONLY | BARE);
}

/* Nothing of a job exists yet, and every mount point is in one of our trees, so no path leads through a link. */
static void show(const struct bind *bind)
{
    char at[WORD_BYTES_MAX];
    snprintf(at, sizeof at, "root%s", bind->destination);
    must(mount(bind->source, at, NULL, MS_BIND | MS_REC, NULL), "show %s", bind->destination);
    must(mount("", at, NULL, MS_PRIVATE | MS_REC, NULL), "keep %s apart", bind->destination);
    if (bind->flags != 0) remount(at, bind->flags | flags_of(at), bind->destination);
}

/* runsc opens its own /proc/self/fd as /proc/fs, from which no `..` leads up. The rest of /proc is removed. */
void enter_root_of_gofer(const struct cell *cell)
{
    make_root("/proc/fs");
    must(mkdir("root", 0755), "make root");
    must(mount("proc/self/fd", "proc/fs", NULL, MS_BIND, NULL), "bind /proc/self/fd");
    must(mount(cell->rootfs, "root", NULL, MS_BIND | MS_REC, NULL), "bind the cell's root");
    must(mount("", "root", NULL, MS_PRIVATE | MS_REC, NULL), "keep the cell's root apart");
    for (int at = 0; at < cell->bind_count; at++) show(&cell->binds[at]);
    remount("root", MS_RDONLY | MS_NOSUID | MS_NODEV, "make the cell's root read-only");
    enter();
}

void enter_root_of_kernel(const struct cell *cell)
{
    (void)cell;
    make_root("/tmp");
    remount(".", MS_RDONLY | BARE, "make the root read-only");
    enter();
}
