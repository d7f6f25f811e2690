/*
 * Process 1 of a cell: starts the one interpreter as the job's user, lets the program run, and reports how it ended. The
 * job runs as another user than process 1, and can neither signal process 1, nor read or change it. So the service can
 * trust the report of process 1, and tell an exit code from a signal.
 *
 * Either the launcher forks the cell, and does all that can be done from outside: process 1 sends it `r` at the
 * workload-ready boundary, and later the content of its report. Or a runtime executes process 1 as `svc-init`, and only
 * the service talks to it:
 *
 *   out  `ready LENGTH` and LENGTH bytes   at the workload-ready boundary: what /proc says of the interpreter
 *   in   `limits NAME=VALUE...`            a job's limits on the waiting processes: `limits.h`; then `shown BYTES` of memory, if
 *                                          the cell shows its memory limit
 *   out  `limits NAME=VALUE...`            the limits, read back from the kernel
 *
 * Both kinds then read `run BYTES ARGUMENTS HEAP_MB OPTION_BYTES OPTIONS`; OPTION_BYTES of words for the compiler; BYTES of
 * words for the program; every later byte is the program's own standard input. A line to process 1 is padded to
 * ORDER_BYTES. The report, which only process 1 can write, is one line padded to LINE_BYTES: `exited CODE` or
 * `signaled NUMBER` when all other processes are dead; if the program is compiled, also `compiling`, `running`, and
 * `compiler exited CODE` or the like. Exit code 125 says that process 1 itself failed.
 *
 * Once the program runs, the report also has `after CPU WALL`: the microseconds that compiling took, 0 and 0 without a compiler.
 * At the end it has `took CPU WALL KIB`: the microseconds of the program with all its descendants, and the most memory that any
 * one of them had, or 0 if not known. The numbers are those of the kernel in which this process runs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher.h"

/* `cell/description.ts` mounts this directory. */
#define SHOWN_GROUPS "/sys/fs/cgroup"

/* Descriptors of a waiting interpreter: one on which it gets its release, and one on which it reports that it waits. */
enum { GO = 3, READY = 4, SPARE = 10 };

static const char REPORT[] = "/svc/report/ending";

/* An interpreter that is up and waits. It reads its release on `go`, and then runs the program. */
struct waiting {
    pid_t pid;
    int ready, go;
};

static void leave_process_one(const struct configuration *configuration)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    /* In a cell with one user, this is the job's user already. */
    if (configuration->has_one_user) keep_capabilities(0);
    else drop_everything();
    umask(022);
    must(chdir(WORK), "chdir");
}

static void execute(const struct words *command, const struct words *environment)
{
    execve(command->first[0], (char *const *)command->first, (char *const *)environment->first);
    fail("cannot start %s: %m", command->first[0]);
}

static int is_open(int descriptor)
{
    return fcntl(descriptor, F_GETFD) >= 0;
}

/* Closes every descriptor from `first` on, now or when the command is executed. A program's command keeps those for tools. */
static void close_all_but_tools(const struct configuration *configuration, const struct words *command, int first, int how)
{
    if (command == &configuration->compiler || !is_open(TOOL_ANSWERS)) {
        close_range(first, ~0u, how);
        return;
    }
    close_range(first, TOOL_ANSWERS - 1, how), close_range(TOOL_CALLS + 1, ~0u, how);
}

static void become_interpreter(const struct configuration *configuration, const struct words *command, int go, int ready)
{
    leave_process_one(configuration);
    must(dup3(go, SPARE, O_CLOEXEC), "dup3"), must(dup3(ready, SPARE + 1, O_CLOEXEC), "dup3");
    must(dup2(SPARE, GO), "dup2"), must(dup2(SPARE + 1, READY), "dup2");
    /* Until the interpreter is executed, a failure can still be reported. */
    close_all_but_tools(configuration, command, READY + 1, CLOSE_RANGE_CLOEXEC);
    if (configuration->executes_late) {
        /* The command must exist, unless this cell's compiler makes it or it is a product that arrives later. */
        if (command == &configuration->compiler || configuration->compiler.count == 0) {
            int is_given = !strncmp(command->first[0], "{work}/", 7);
            if (!is_given && access(command->first[0], X_OK) < 0) fail("cannot start %s: %m", command->first[0]);
        }
        must(write(READY, "r", 1), "say ready");
        close_all_but_tools(configuration, command, READY, 0);
        failures = STDERR_FILENO;
        await_and_execute(command, &configuration->environment, GO);
    }
    execute(command, &configuration->environment);
}

/* Starts an interpreter. Its stdin is the program's, or `input` if that is given. */
static void start_waiting(const struct configuration *configuration, const struct words *command, const char *input,
    struct waiting *into)
{
    int ready[2], go[2];
    must(pipe2(ready, O_CLOEXEC), "pipe"), must(pipe2(go, O_CLOEXEC), "pipe");
    into->pid = fork();
    must(into->pid, "fork");
    if (into->pid == 0) {
        if (input != NULL) must(dup2(open(input, O_RDONLY | O_CLOEXEC), STDIN_FILENO), "open the input");
        become_interpreter(configuration, command, go[0], ready[1]);
    }
    close(ready[1]), close(go[0]);
    into->ready = ready[0], into->go = go[1];
}

static struct waiting program, compiler;

/* Ends the waiting processes: the service closed the cell before any job was released. */
static void leave(void)
{
    kill(program.pid, SIGKILL);
    if (compiler.pid > 0) kill(compiler.pid, SIGKILL);
    syscall(SYS_exit_group, 0);
}

/* Reads exactly this many bytes: those that follow belong to the program. */
static void read_bytes(char *into, size_t length)
{
    while (length > 0) {
        ssize_t count = read(STDIN_FILENO, into, length);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) leave();
        into += count, length -= count;
    }
}

/* Reads a line from the service. Its length is always the same. */
static void read_order(char *line)
{
    read_bytes(line, ORDER_BYTES);
    line[ORDER_BYTES] = '\0';
}

/*
 * Writes how much memory a program may use into the files where programs look for it: control-group files of both versions.
 * gVisor itself has no such files. The program owns none of them.
 */
static void show_memory(unsigned long bytes)
{
    static const char *const NAMES[] = { "memory.max", "memory/memory.limit_in_bytes", "memory/memory.soft_limit_in_bytes" };
    char path[64], text[24];
    int length = snprintf(text, sizeof text, "%lu\n", bytes);
    must(mkdir(SHOWN_GROUPS "/memory", 0755), "make " SHOWN_GROUPS "/memory");
    for (size_t at = 0; at < sizeof NAMES / sizeof *NAMES; at++) {
        snprintf(path, sizeof path, SHOWN_GROUPS "/%s", NAMES[at]);
        int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        must(file, "make %s", path);
        must(write_all(file, text, length), "write %s", path);
        close(file);
    }
}

/* Sets a job's limits on the waiting processes if no launcher does, and reports the limits that the kernel then holds. */
static void set_limits(void)
{
    char line[ORDER_BYTES + 1], rows[ORDER_BYTES], answer[ORDER_BYTES + 16];
    const struct waiting *each[] = { &compiler, &program };
    unsigned long limits[LIMITS], held[LIMITS], memory;
    read_order(line);
    const char *rest = strncmp(line, "limits ", 7) ? NULL : read_limits(line + 7, limits);
    if (rest == NULL) fail("malformed line");
    if (sscanf(rest, " shown %lu", &memory) == 1) show_memory(memory);
    for (int at = 0; at < 2; at++)
        if (each[at]->pid > 0) must(limit_process(each[at]->pid, limits, held), "set limits");
    say_limits(rows, sizeof rows, held);
    must(write_all(STDOUT_FILENO, answer, snprintf(answer, sizeof answer, "limits %s\n", rows)), "tell the limits");
}

/* The summed usage of all descendants that were waited for, or the difference between two such sums. */
struct taken {
    long cpu, wall, kib;
};

static long microseconds(clockid_t clock)
{
    struct timespec time;
    return clock_gettime(clock, &time) == 0 ? time.tv_sec * 1000000 + time.tv_nsec / 1000 : 0;
}

static struct taken take_stock(void)
{
    struct rusage of;
    must(getrusage(RUSAGE_CHILDREN, &of), "read what the children took");
    long cpu = (of.ru_utime.tv_sec + of.ru_stime.tv_sec) * 1000000 + of.ru_utime.tv_usec + of.ru_stime.tv_usec;
    return (struct taken){ .cpu = cpu, .wall = microseconds(CLOCK_MONOTONIC), .kib = of.ru_maxrss };
}

static struct taken since(const struct taken *before)
{
    struct taken now = take_stock();
    /* The peak belongs to a new child only if it is above the earlier peak. */
    return (struct taken){ now.cpu - before->cpu, now.wall - before->wall, now.kib > before->kib ? now.kib : 0 };
}

/* The result of `take_stock` at the release of a waiting process, plus the processor time of that process until then. */
static struct taken released;

/* Releases an interpreter: sends it a line and the words of the program, and then closes the descriptor. */
static void release(const struct waiting *waiting, unsigned heap, unsigned arguments, const char *words, size_t length)
{
    char line[64];
    clockid_t own;
    released = take_stock();
    /* Adds the interpreter's time so far, which later counts as a child's. If the interpreter is gone, that time was tiny. */
    if (clock_getcpuclockid(waiting->pid, &own) == 0) released.cpu += microseconds(own);
    /* A failure means that the interpreter has ended: its wait status then says how. */
    if (write_all(waiting->go, line, snprintf(line, sizeof line, "%u %u\n", heap, arguments)) == 0)
        (void)!write_all(waiting->go, words, length);
    close(waiting->go);
}

/* Waits for an interpreter and returns its wait status. Reaps every other child of process 1 meanwhile. */
static int wait_for(const struct waiting *waiting)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid == waiting->pid) return status;
        if (pid < 0 && errno != EINTR) fail("waitpid: %m");
    }
}

static int is_forked;

/*
 * Writes to the launcher, or to a file that is opened again each time, because a program may see the files that process
 * 1 holds open. The line always has the same length, so that one write replaces it: the host reads either this line or
 * the one before.
 */
static void report(const char *text)
{
    char line[LINE_BYTES + 1];
    snprintf(line, sizeof line, "%-*s\n", LINE_BYTES - 1, text);
    if (is_forked) {
        must(write(UP, line, LINE_BYTES), "report");
        return;
    }
    int file = open(REPORT, O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, line, LINE_BYTES) != LINE_BYTES) fail("cannot report: %m");
    close(file);
}

/*
 * Every other process of the cell descends from this process. If it has no children, there is nothing to kill, and the kernel
 * need not look at every process of the host. In gVisor a process that is just being forked can escape a kill, and could fork
 * further. So all are killed again whenever one has ended.
 */
static void end_what_is_left(void)
{
    if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD) return;
    do kill(-1, SIGKILL); while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
}

/* The usage of the compiler, once the compiler has ended. */
static struct taken compiled;

/* Ends all processes that are left, and then reports the end of the program or of its compiler. */
static void report_ending(const struct configuration *configuration, int is_compiler, int status)
{
    char text[LINE_BYTES];
    long wall = since(&released).wall;
    end_what_is_left();
    struct taken took = since(&released);
    int has_signal = WIFSIGNALED(status), value = has_signal ? WTERMSIG(status) : WEXITSTATUS(status);
    const char *of = is_compiler ? "compiler " : "";
    int length = snprintf(text, sizeof text, "%s%s %d", of, has_signal ? "signaled" : "exited", value);
    if (!is_compiler)
        snprintf(text + length, sizeof text - length, " after %ld %ld took %ld %ld %ld", compiled.cpu, compiled.wall, took.cpu,
            wall, took.kib);
    /* The service sees the end of its pipes now, and not only when this process ends. */
    if (is_forked) close_range(STDIN_FILENO, STDERR_FILENO, 0);
    report(text);
    if (configuration->say_ended != NULL) configuration->say_ended();
}

/*
 * Compiles the program while its interpreter still waits. If that fails, the job is over. The phase is reported when it
 * begins, so that the service knows that the program never ran if the cell is ended meanwhile.
 */
static void compile(const struct configuration *configuration, unsigned heap, unsigned options, const char *words, size_t length)
{
    char text[LINE_BYTES];
    report("compiling");
    release(&compiler, heap, options, words, length);
    int status = wait_for(&compiler);
    if (status != 0) {
        report_ending(configuration, 1, status);
        syscall(SYS_exit_group, 0);
    }
    compiled = since(&released);
    snprintf(text, sizeof text, "running after %ld %ld", compiled.cpu, compiled.wall);
    report(text);
}

static void wait_until_ready(const struct waiting *waiting)
{
    char byte;
    if (waiting->pid <= 0) return;
    if (read(waiting->ready, &byte, 1) != 1) fail("the interpreter ended before it was ready");
    close(waiting->ready);
}

/* Takes one job: its limits, its release, and the words of the program. */
static void run_job(const struct configuration *configuration)
{
    char line[ORDER_BYTES + 1];
    size_t length, compilers;
    unsigned arguments, heap, options;
    if (!is_forked) set_limits();
    read_order(line);
    /* The service has opened its ends, and is the only one that writes to this process. */
    if (is_forked) close_range(SERVICES_ENDS, FILES, 0), close_range(SERVICES_TOOLS, SERVICES_TOOLS + 1, 0);
    if (sscanf(line, "run %zu %u %u %zu %u", &length, &arguments, &heap, &compilers, &options) != 5) fail("malformed line");
    char *words = malloc(compilers + length + 1);
    if (words == NULL) fail("no memory for the program's words");
    read_bytes(words, compilers + length);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    /* The program's input may come from another program, which must notice when the program of this cell closes its input. */
    must(dup2(nothing, STDIN_FILENO), "leave the program's input");
    must(dup2(nothing, STDOUT_FILENO), "leave the program's output");
    close(nothing);
    /* Now only the program has the descriptors for tools, so that they end with the program. */
    close(TOOL_ANSWERS), close(TOOL_CALLS);
    if (compiler.pid > 0) compile(configuration, heap, options, words, compilers);
    release(&program, heap, arguments, words + compilers, length);
    report_ending(configuration, 0, wait_for(&program));
}

/* The launcher observes the cell from outside and reports it to the service. */
static void say_up(void)
{
    close(DOWN);
    failures = STDERR_FILENO;
    must(write(UP, "r", 1), "say ready");
}

/* Reserves room for the report: a program may fill the report's file system, and its end must still be reported. */
static void take_room(void)
{
    char room[LINE_BYTES];
    int file = open(REPORT, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    must(file, "open the report");
    memset(room, ' ', sizeof room);
    must(write(file, room, sizeof room), "write the report");
    close(file);
}

/* Process 1 of the template's cell: it ends with the template. */
static void run_template(const struct configuration *configuration)
{
    pid_t pid = fork();
    must(pid, "fork");
    if (pid == 0) {
        leave_process_one(configuration);
        close_range(STDERR_FILENO + 1, ASKED - 1, CLOSE_RANGE_CLOEXEC);
        execute(&configuration->arguments, &configuration->environment);
    }
    close_range(UP, ~0u, 0);
    wait_for(&(struct waiting){ .pid = pid });
    syscall(SYS_exit_group, 0);
}

/* The copy becomes a child of this process before it says that it is ready. */
static void await_copy(void)
{
    must(write(UP, "w", 1), "ask for a copy");
    program.go = TELL, program.ready = HEAR, program.pid = 1;
    wait_until_ready(&program);
    if (list_children(getpid(), &program.pid, 1) != 1) fail("there is not one copy");
}

static void start_interpreters(const struct configuration *configuration, enum kind kind)
{
    if (kind == COPIED) return await_copy();
    if (configuration->compiler.count > 0) start_waiting(configuration, &configuration->compiler, "/dev/null", &compiler);
    start_waiting(configuration, &configuration->arguments, NULL, &program);
    wait_until_ready(&compiler);
    wait_until_ready(&program);
}

void run_init(const struct configuration *configuration, enum kind kind)
{
    is_forked = configuration->say_ready == NULL;
    speaker = "init: ";
    /* The change of the user has cleared this setting. If the launcher has ended since, the report of `ready` fails. */
    must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "prctl");
    reset_signals();
    if (kind == TEMPLATE) run_template(configuration);
    if (!is_forked) take_room();
    start_interpreters(configuration, kind);
    signal(SIGPIPE, SIG_IGN);
    if (is_forked) say_up();
    else configuration->say_ready(program.pid);
    run_job(configuration);
    syscall(SYS_exit_group, 0);
    __builtin_unreachable();
}
