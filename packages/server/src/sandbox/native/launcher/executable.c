/*
 * A process can always open its executable again, as /proc/self/exe. In a copy of a template this would be the template's file:
 * one inode through which all cells of the template could watch and lock one another. So each copy changes its executable to the
 * file of that name in its own cell.
 *
 * The kernel changes the executable of a process (prctl(2), PR_SET_MM_MAP) once nothing of the old one is mapped. Data
 * and relocated tables differ from the file, so the template copies them once into memory without a file. Code and
 * constants equal the file, so each copy of the template maps them again from its own file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "launcher.h"

enum { SEGMENTS_MAX = 32 };

struct segment {
    unsigned char *start;
    size_t length;
    off_t offset;
    int protection;
};

static char path[PATH_BYTES_MAX];
static struct segment segments[SEGMENTS_MAX];
static int segment_count;
/* The layout of this process as the kernel knows it. The kernel needs all of it together with the new executable. */
static struct prctl_mm_map layout;

static int protection_of(const char *letters)
{
    return (letters[0] == 'r' ? PROT_READ : 0) | (letters[1] == 'w' ? PROT_WRITE : 0) | (letters[2] == 'x' ? PROT_EXEC : 0);
}

/* Whether the memory of a segment equals the file. Memory beyond the file's end does not. */
static int is_as_in_file(int file, const struct segment *segment)
{
    unsigned char page[4096];
    if ((segment->protection & PROT_WRITE) || !(segment->protection & PROT_READ)) return 0;
    for (size_t at = 0; at < segment->length; at += sizeof page)
        if (pread(file, page, sizeof page, segment->offset + at) <= 0 || memcmp(segment->start + at, page, sizeof page) != 0)
            return 0;
    return 1;
}

/* Replaces the segment by a copy in one step, so that code that runs meanwhile sees the same bytes. */
static void copy_in_place(const struct segment *segment)
{
    unsigned char *copy = mmap(NULL, segment->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) fail("cannot copy the executable's data: %m");
    memcpy(copy, segment->start, segment->length);
    if (mprotect(copy, segment->length, segment->protection) != 0 ||
        mremap(copy, segment->length, segment->length, MREMAP_MAYMOVE | MREMAP_FIXED, segment->start) == MAP_FAILED)
        fail("cannot replace the executable's data: %m");
}

/* Reads the fields of proc_pid_stat(5) after the command's name, which may contain anything. The layout begins at field 26. */
static void read_layout(void)
{
    char text[2048], *rest;
    FILE *file = fopen("/proc/self/stat", "re");
    if (file == NULL || fgets(text, sizeof text, file) == NULL || (rest = strrchr(text, ')')) == NULL)
        fail("cannot read the layout of the interpreter: %m");
    fclose(file);
    uint64_t fields[64] = { 0 };
    int number = 3;
    for (char *word = strtok(rest + 1, " "); word != NULL && number < 64; word = strtok(NULL, " "))
        fields[number++] = strtoull(word, NULL, 10);
    layout = (struct prctl_mm_map){
        .start_code = fields[26], .end_code = fields[27],   .start_stack = fields[28], .start_data = fields[45],
        .end_data = fields[46],   .start_brk = fields[47],  .arg_start = fields[48],   .arg_end = fields[49],
        .env_start = fields[50],  .env_end = fields[51],    .auxv = NULL,              .auxv_size = 0,
    };
}

void leave_executable(void)
{
    char line[PATH_BYTES_MAX + 128];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    FILE *maps = fopen("/proc/self/maps", "re");
    if (length < 0 || file < 0 || maps == NULL) fail("cannot look at the executable: %m");
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long start, end, offset;
        char letters[5], name[PATH_BYTES_MAX] = "";
        if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %4095[^\n]", &start, &end, letters, &offset, name) < 5) continue;
        if (strcmp(name, path) != 0) continue;
        if (segment_count == SEGMENTS_MAX) fail("the executable has too many segments");
        segments[segment_count++] =
            (struct segment){ (unsigned char *)start, end - start, (off_t)offset, protection_of(letters) };
    }
    fclose(maps);
    int kept = 0;
    for (int at = 0; at < segment_count; at++)
        if (is_as_in_file(file, &segments[at])) segments[kept++] = segments[at];
        else copy_in_place(&segments[at]);
    segment_count = kept;
    close(file);
    read_layout();
}

void change_executable(void)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) fail("cannot open the cell's %s: %m", path);
    for (int at = 0; at < segment_count; at++) {
        const struct segment *segment = &segments[at];
        if (mmap(segment->start, segment->length, segment->protection, MAP_PRIVATE | MAP_FIXED, file, segment->offset) ==
            MAP_FAILED)
            fail("cannot map the cell's %s: %m", path);
    }
    layout.brk = (uintptr_t)sbrk(0);
    layout.exe_fd = file;
    if (prctl(PR_SET_MM, PR_SET_MM_MAP, &layout, sizeof layout, 0) != 0) fail("cannot change the executable: %m");
    close(file);
}
