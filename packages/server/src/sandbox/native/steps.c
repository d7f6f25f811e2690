/* Steps that all makers of cells have in common. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "failure.h"
#include "steps.h"

unsigned long number(const char *word)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(word, &end, 10);
    if (errno != 0 || *word < '0' || *word > '9' || *end != '\0') fail("not a number: %s", word);
    return value;
}

void write_file(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    must(file, "open %s", path);
    must(write(file, text, strlen(text)), "write %s", path);
    close(file);
}

int write_all(int file, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t count = write(file, bytes, length);
        if (count < 0 && errno != EINTR) return -1;
        if (count > 0) bytes += count, length -= count;
    }
    return 0;
}

void make_directory(const char *path, mode_t mode, uid_t owner)
{
    must(mkdir(path, mode), "make %s", path);
    if (owner != 0) must(chown(path, owner, owner), "give away %s", path);
}

void bind_mount(const char *source, const char *destination, unsigned long flags)
{
    must(mount(source, destination, NULL, MS_BIND, NULL), "bind %s to %s", source, destination);
    must(mount(NULL, destination, NULL, MS_BIND | MS_REMOUNT | flags, NULL), "set the flags of %s", destination);
}

/*
 * The layer is given as the working directory, so that its name needs no quoting. A read-only overlay must have two layers, so
 * the first is an empty directory of the cell. statfs(2) reports on that directory.
 */
void overlay(const char *layer, const char *destination, unsigned long flags, const char *nothing)
{
    char layers[REASON_BYTES_MAX];
    if (snprintf(layers, sizeof layers, "lowerdir=%s:.", nothing) >= (int)sizeof layers) fail("a path is too long: %s", nothing);
    must(chdir(layer), "enter %s", layer);
    must(mount("overlay", destination, "overlay", MS_RDONLY | flags, layers), "lay over %s", destination);
}

/* proc(5), /proc/PID/oom_score_adj. */
void prefer_for_killing(void)
{
    write_file("/proc/self/oom_score_adj", "1000");
}

/* The network namespace belongs to root of the host, like all others, so no process of the cell can change it. netdevice(7). */
void bring_up_loopback(void)
{
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    must(any, "make a socket for lo");
    must(ioctl(any, SIOCSIFFLAGS, &request), "bring up lo");
    close(any);
}

/* For root of a user namespace, exec(2) gives back the capabilities in the bounding set, and no others. */
void keep_capabilities(uint64_t kept)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { 0 };
    must(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "drop ambient capabilities");
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if (!(kept >> capability & 1)) must(prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), "drop a capability");
    for (int half = 0; half < 2; half++) data[half].permitted = data[half].effective = (uint32_t)(kept >> 32 * half);
    must(syscall(SYS_capset, &header, data), "drop capabilities");
}

int map_cell(int processes, pid_t pid, unsigned root, unsigned user, const char *more)
{
    char map[256];
    snprintf(map, sizeof map, "0 %u 1\n%u %u 1\n%s", root, (unsigned)JOB_UID, user, more);
    return write_maps(processes, pid, map);
}

int write_maps(int processes, pid_t pid, const char *map)
{
    const char *const names[] = { "uid_map", "gid_map" };
    char path[64];
    int length = strlen(map), result = 0;
    for (int at = 0; at < 2; at++) {
        snprintf(path, sizeof path, "%s%d/%s", processes < 0 ? "/proc/" : "", pid, names[at]);
        int file = openat(processes, path, O_WRONLY | O_CLOEXEC);
        if (file < 0 || write(file, map, length) != length) result = -1;
        if (file >= 0) close(file);
    }
    return result;
}
