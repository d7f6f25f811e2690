/* How a process in a cell becomes the job's user. */
#define _GNU_SOURCE
#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "launcher.h"

void drop_everything(void)
{
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        must(prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), "drop a capability");
    must(setgroups(0, NULL), "setgroups");
    must(setresgid(JOB_UID, JOB_UID, JOB_UID), "setresgid");
    /* The kernel takes all capabilities from a process that was root and no longer is: capabilities(7). */
    must(setresuid(0, 0, 0), "setresuid");
    must(setresuid(JOB_UID, JOB_UID, JOB_UID), "setresuid");
    uid_t real, effective, saved;
    if (getresuid(&real, &effective, &saved) != 0 || real != JOB_UID || effective != JOB_UID || saved != JOB_UID)
        fail("the job would keep privileges");
}
