/* A library for LD_PRELOAD. It makes each file sync last at least as long as SYNC_NANOSECONDS says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static int slowed(const char *name, int file) {
    int (*sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    const char *text = getenv("SYNC_NANOSECONDS");
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += text == NULL ? 0 : atol(text);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int result = sync(file);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    return result;
}

int fsync(int file) { return slowed("fsync", file); }
int fdatasync(int file) { return slowed("fdatasync", file); }
