/* Steps that all makers of cells have in common: the launcher, `svc-stage` and `svc-sentry`. */
#ifndef STEPS_H
#define STEPS_H

#include <stdint.h>
#include <sys/types.h>

/* The job's user in a cell. The cell's root is 0. Neither owns anything on the host. */
enum { JOB_UID = 1000 };

/* The value of a word that is a number and nothing else. */
unsigned long number(const char *word);
void write_file(const char *path, const char *text);
/* Writes all bytes. Returns 0, or -1 if the other end is gone. */
int write_all(int file, const char *bytes, size_t length);
void make_directory(const char *path, mode_t mode, uid_t owner);

/* Mounts in this process's own mount namespace, with flags of mount(2). */
void bind_mount(const char *source, const char *destination, unsigned long flags);
/* Shows a layer read-only and with inodes of its own. `nothing` is an empty directory whose name needs no quoting. */
void overlay(const char *layer, const char *destination, unsigned long flags, const char *nothing);

/* Makes this process one of the first to be killed if the host runs out of memory. No process of a cell can undo this. */
void prefer_for_killing(void);
void bring_up_loopback(void);

#define BIT(capability) (1ull << (capability))
/* Keeps these capabilities, and drops the others for good. */
void keep_capabilities(uint64_t kept);

/*
 * Maps the two users of a cell, and `more`, to users of the namespace above. `processes` is an open /proc; -1 stands
 * for the present /proc. Returns 0, or -1 with `errno`.
 */
int map_cell(int processes, pid_t pid, unsigned root, unsigned user, const char *more);
/* Does the same with a given map, for users and groups alike. */
int write_maps(int processes, pid_t pid, const char *map);

#endif
