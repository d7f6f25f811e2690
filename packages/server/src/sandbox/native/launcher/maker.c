/*
 * Makes a cell for a copy of the template, with mounts from the host's root and its own control group, like any cell.
 * But the template's user makes the cell's user namespace, below the template's. That namespace owns the others, so the
 * copy may enter them all. Process 1 gives up its capabilities there before it lets the copy in.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher.h"

enum { NAMESPACES = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP };

/* A change of the effective user takes away the effective capabilities, but not the permitted ones: capabilities(7). */
static void raise_capabilities(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2];
    must(syscall(SYS_capget, &header, data), "read capabilities");
    for (int half = 0; half < 2; half++) data[half].effective = data[half].permitted;
    must(syscall(SYS_capset, &header, data), "raise capabilities");
}

/*
 * The user namespace of process 1 belongs to the effective user of its maker, so this process takes the template's user. All
 * other ids stay root's, and so does /proc/PID of this process and of its child. Otherwise the template, which has every right
 * over processes of its user, could stop this process, and read a process 1 that has no filter yet. Root of the host also
 * writes the child's maps, by the capabilities that entering the template's namespace gives.
 */
static void become_user_of_template(uid_t user)
{
    must(setresuid(-1, user, -1), "become the template's user");
    setfsuid(0);
    raise_capabilities();
    must(setns(template_users, CLONE_NEWUSER), "enter the template's users");
    must(setresgid(JOB_UID, JOB_UID, JOB_UID), "become the template's group");
    must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "close /proc");
}

/* The launcher is the parent of process 1, and process 1 is in a process namespace below the template's. */
static pid_t clone_process_one(int *handle)
{
    struct clone_args arguments = { .flags = NAMESPACES | CLONE_PARENT | CLONE_PIDFD, .pidfd = (uintptr_t)handle };
    return syscall(SYS_clone3, &arguments, sizeof arguments);
}

/* A process's id in the process namespace that a /proc belongs to. */
static pid_t id_in(int processes, int handle)
{
    char path[64], text[512] = "", *line;
    snprintf(path, sizeof path, "self/fdinfo/%d", handle);
    int file = openat(processes, path, O_RDONLY | O_CLOEXEC);
    must(file, "open %s", path);
    must(read(file, text, sizeof text - 1), "read %s", path);
    close(file);
    if ((line = strstr(text, "\nPid:")) == NULL) fail("cannot find process 1");
    return atoi(line + 5);
}

static void become_process_one(const struct configuration *configuration)
{
    char answer;
    close_others(COPIED, 0);
    setsid();
    /* Only the maker could tell this process to go on, and the maker may have ended. */
    if (read(DOWN, &answer, 1) != 1) syscall(SYS_exit_group, 125);
    become_root_of_cell();
    make_own_proc(configuration);
    cover_kernel_files(configuration);
    set_up_kernel(configuration);
    confine(configuration, COPIED);
}

void become_maker(const struct configuration *configuration, const struct request *request, const struct pipes *pipes, int up,
    const int *down)
{
    int handle, tell = down[1];
    uid_t root = request->root;
    place_descriptors(COPIED, pipes, up, down[0]);
    close(down[0]);
    join_groups(configuration, request->id);
    prefer_for_killing();
    int processes = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    must(processes, "open /proc");
    must(unshare(CLONE_NEWNS), "unshare mounts");
    make_mounts(configuration, root);
    become_user_of_template(root_of_template() + 1);
    pid_t pid = clone_process_one(&handle);
    must(pid, "clone process 1");
    if (pid == 0) become_process_one(configuration);
    pid = id_in(processes, handle);
    must(map_cell(processes, pid, template_id_of(configuration, root), template_id_of(configuration, root + 1), ""), "map users");
    must(write(tell, "m", 1), "tell process 1");
    syscall(SYS_exit_group, 0);
    __builtin_unreachable();
}
