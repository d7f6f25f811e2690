/*
 * Starts a command as root of a user namespace of its own, for a service whose user is not root of the host:
 *
 *   svc-enter USERS GROUPS COUNT COMMAND WORD...
 *
 * The caller is root of the namespace. The namespace's users and groups from 1 on are the caller's COUNT subordinate
 * users and groups that begin at USERS and GROUPS (subuid(5)). newuidmap(1) and newgidmap(1) map them, because only
 * root of the host may map users other than the caller. If COUNT is 0, only the caller is mapped, and these programs
 * are not used. The command takes the place of this process and keeps its id. user_namespaces(7).
 */
#define _GNU_SOURCE
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failure.h"
#include "steps.h"

enum { NOT_STARTED = 125, FIRST_WORD = 4 };

static int run(const char *mapper, const char *pid, unsigned own, const char *first, const char *count)
{
    char number[16];
    int status;
    pid_t child = fork();
    must(child, "start the program that maps users");
    if (child == 0) {
        snprintf(number, sizeof number, "%u", own);
        execl(mapper, mapper, pid, "0", number, "1", "1", first, count, NULL);
        must(-1, "start %s", mapper);
    }
    must(waitpid(child, &status, 0), "wait for the program that maps users");
    return status;
}

/* Runs outside of the namespace, where the two mappers have the rights of root. */
static void map(pid_t parent, int begin, char **words)
{
    char pid[16], byte;
    snprintf(pid, sizeof pid, "%d", parent);
    if (read(begin, &byte, 1) != 1) exit(NOT_STARTED);
    int failed = run("/usr/bin/newuidmap", pid, getuid(), words[1], words[3]) ||
        run("/usr/bin/newgidmap", pid, getgid(), words[2], words[3]);
    exit(failed ? NOT_STARTED : 0);
}

/* The kernel maps groups only for a process that can no longer leave a group: a file may exclude a group's members. */
static void enter_alone(void)
{
    char users[32], groups[32];
    snprintf(users, sizeof users, "0 %u 1", getuid());
    snprintf(groups, sizeof groups, "0 %u 1", getgid());
    must(unshare(CLONE_NEWUSER), "make a user namespace");
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/gid_map", groups);
    write_file("/proc/self/uid_map", users);
}

static int enter_with_others(char **words)
{
    int begin[2], status;
    must(pipe2(begin, 0), "make a pipe");
    pid_t parent = getpid(), mapper = fork();
    must(mapper, "start the program that maps users");
    if (mapper == 0) {
        close(begin[1]);
        map(parent, begin[0], words);
    }
    close(begin[0]);
    must(unshare(CLONE_NEWUSER), "make a user namespace");
    must(write(begin[1], "m", 1), "ask for a mapping");
    close(begin[1]);
    must(waitpid(mapper, &status, 0), "wait for the mapping");
    if (status != 0) return NOT_STARTED;
    must(setgroups(0, NULL), "leave all groups");
    must(setresgid(0, 0, 0), "become group 0");
    must(setresuid(0, 0, 0), "become user 0");
    return 0;
}

int main(int count, char **words)
{
    speaker = "vouchbox: ";
    if (count <= FIRST_WORD) fail("svc-enter USERS GROUPS COUNT COMMAND WORD...");
    if (!strcmp(words[3], "0")) enter_alone();
    else if (enter_with_others(words) != 0) return NOT_STARTED;
    execv(words[FIRST_WORD], words + FIRST_WORD);
    must(-1, "start %s", words[FIRST_WORD]);
}
