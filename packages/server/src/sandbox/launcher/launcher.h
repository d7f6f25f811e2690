/*
 * The launcher: one small process for each language and runtime pack that forks cells. It never runs anything of a job.
 *
 *   main.c           reads the configuration, makes the filter, enters a root of its own, serves or becomes a zygote
 *   configuration.c  the configuration, as the service writes it
 *   filter.c         the system call filter, by libseccomp
 *   root.c           the root that every cell copies: read-only trees and nothing else of the host
 *   serve.c          requests in, forked cells out, and what became of each
 *   answer.c         how the service is told
 *   cells.c          every cell, from the request for it until nothing is left of it
 *   living.c         what is done to a cell from outside: its user mapping, its limits, its end
 *   groups.c         its control groups
 *   report.c         what the kernel says of it
 *   cell.c           namespaces, control group and privileges of one cell
 *   mounts.c         what one cell sees
 *   executable.c     gives the interpreter of a cell that was forked the executable file of that cell
 *   init.c           process 1 of a cell: the conversation with the service, and how the program ended
 *   command.c        what a cell executes once its program is released
 *   guest.c          the same process 1 as a program of its own, for cells of gVisor
 *   failure.c        how any of them fails
 *   python.c         the end of a Python interpreter that was forked
 *
 * A zygote is an interpreter that has loaded this code as an extension module (zygote.c) and called `serve_cells`: the
 * interpreter of each cell is then a fork of it. For other languages the interpreter is executed in the cell.
 *
 * Every failure of the launcher itself ends it with one line on standard error. A failure inside a cell ends that cell,
 * and the line goes back to the service as the answer to its request.
 */
#ifndef LAUNCHER_H
#define LAUNCHER_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* In the launcher's own root: where a cell puts its file system together, and the layers of its trees, by number. */
#define CELL "/tmp/cell"
#define TREES "/tmp/trees"
/* In a cell: where the program is. */
#define WORK "/work"

enum {
    PATH_BYTES_MAX = 4096,
    WORDS_MAX = 256,         /* of any list of the configuration */
    GROUPS_MAX = 8,          /* hierarchies */
    WAITING_MAX = 2,         /* processes that wait in a cell: what runs the program, and what compiles it before */
    ACCESS_BYTES_MAX = 96,   /* of one access to a file of a group */
    REPORT_BYTES_MAX = 256 * 1024,
    ID_BYTES_MAX = 64,
    LINE_BYTES = 64,         /* of a line to process 1 of a cell, or from it */
    LIMITS = 3,              /* of a job, on each process that waits: file size, CPU time, processes */
    CELLS_MAX = 4096,
    JOB_UID = 1000,
};

/* Descriptors at known numbers: in a zygote and in a cell nothing else is open. */
enum {
    SERVICES_ENDS = 20,      /* and the two after it: the service's ends of a cell's pipes, which pipes.ts knows too */
    FILES = 23,              /* the file system that /work and the report are on, which the service opens too */
    UP = 26, DOWN = 27,      /* between process 1 and the launcher: `DOWN` while the cell is made */
    GROUPS_FIRST = 40,       /* directories of groups, in the order of the configuration */
    CONFIGURATION = 50, FILTER = 51, LIBRARY = 52,    /* what a zygote is given */
};

/* One line of the configuration after its keyword, in up to two parts that a tab separates. */
struct words {
    char *first[WORDS_MAX];
    char *second[WORDS_MAX];
    int count;
};

/* What a cell is shown of the host. */
struct tree {
    unsigned long flags;       /* of mount(2) */
    char *source, *destination;
    char *name;                /* of a tree that is a file: in the directory that its layer is; else null */
};

struct configuration {
    int is_group_v2;
    struct words groups;       /* directories that hold the groups of cells, one for each hierarchy */
    struct words look;         /* what is read of a cell's groups when it waits for a job: accesses */
    struct words usage;        /* what is read of a cell's groups when its program is over: accesses */
    char *count;               /* where it is read how many are in a cell: an access */
    char *rootfs;              /* the empty root on the host */
    struct tree *trees;
    int tree_count;
    struct words masked;       /* paths of a cell that are covered */
    struct words read_only;    /* paths of a cell that are made read-only */
    struct words limits;       /* number of a resource, value: getrlimit(2) */
    struct words rules;        /* the filter, as filter.c reads it */
    int otherwise;             /* errno of a call that no rule names */
    struct words environment;
    struct words arguments;    /* the interpreter's command */
    struct words compiler;     /* the command that compiles a program first; empty where none does */
    struct words mounts;       /* path in the cell; type, flags and options, as mount(2) has them */
    char *work_size;           /* of /work and all below it, as tmpfs(5) reads it */
    unsigned long work_flags;  /* of /work beside nosuid and nodev */
    int has_loopback;          /* whether `lo` is up in a cell */
    int executes_late;         /* whether a command is executed only when it is released: it cannot wait itself */
    char *zygote;              /* library that the interpreter loads; null where the interpreter is executed in the cell */
    struct sock_fprog filter;
    void (*say_ready)(pid_t interpreter);    /* at the workload-ready boundary; null where the launcher is told */
    void (*say_ended)(void);                 /* when the end of the job is reported; null where nobody waits for the word */
};

/* What the service asks for: an id, which is also the name of the cell's groups, and the host user that is root inside. */
struct request {
    char id[ID_BYTES_MAX];
    uid_t root;
};

/* Sections of text about one cell. */
struct report {
    size_t length;
    char text[REPORT_BYTES_MAX];
};

/* A cell as the launcher knows it, from its `clone3` until it is forgotten and gone. */
struct cell {
    struct request request;
    pid_t pid;                          /* of process 1; nobody else's while this is here */
    int up, down;                       /* `down` until it is made; `up` until process 1 has said its last */
    int is_made, is_over, has_ended, is_forgotten;
    pid_t waiting[WAITING_MAX];         /* at the workload-ready boundary: a compiler, where there is one, and the interpreter */
    int handles[WAITING_MAX];           /* pidfds of them, until a job is handed over */
    int waiting_count;
    unsigned long held[LIMITS];         /* resource limits of theirs, read back */
    int is_limited;
    char said[LINE_BYTES + 1];          /* the last that process 1 said of its program */
};

/* Every cell of this launcher that is not gone; one whose `pid` is 0 goes with the next burial. */
extern struct cell cells[];
extern int cell_count;

void answer(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Sends the report behind its line. */
void answer_with_report(const char *word, const struct cell *cell, const struct report *report);

/* Makes a cell and its groups. Returns 1 in the interpreter of a zygote's cell, else 0. */
int make_cell(const struct configuration *configuration, const struct request *request, const char *accesses);
/* Takes what a cell says to the launcher. */
void hear(const struct configuration *configuration, struct cell *cell);
/* Sets a job's limits on a cell, and tells what is read back. */
void hold(struct cell *cell, const unsigned long *limits, const char *accesses);
/* From here on nobody looks at the process: the service has what it opened of it. */
void forget(struct cell *cell);
/* Says of each cell that has ended that it has. */
void look_for_endings(const struct configuration *configuration);
/* Takes out the cells of which nothing is left to be told, and tells so. */
void bury(const struct configuration *configuration);

/* The ends of a cell's pipes, by stream: 0, 1 and 2. */
struct pipes {
    int cells[3];
    int services[3];
};

struct configuration *parse_configuration(char *text);
char *read_configuration(int descriptor);

struct sock_fprog make_filter(const struct words *rules, int otherwise);

void enter_root(const struct configuration *configuration);

/* Of the cell with that id: 0, or -1 with `errno`. Groups that could not all be made are not there. */
void open_groups(const struct configuration *configuration);
int make_groups(const struct configuration *configuration, const char *id);
int remove_groups(const struct configuration *configuration, const char *id);
int open_group_v2(const char *id);
/*
 * Does what `words` say in their order: `GROUP/FILE=VALUE` writes, `GROUP/FILE` reads and adds a section. Stops at the first
 * that fails.
 */
int access_groups(const char *id, const char *words, struct report *report);
/* Whether process 1, which nobody has waited for, is all that is in them. */
int is_alone(const struct configuration *configuration, const char *id);

void begin_section(struct report *report, const char *name);
/* A file that cannot be read says so: nothing is claimed of it. */
void add_file(struct report *report, const char *name, const char *path);
void add_namespaces(struct report *report, pid_t pid);
int add_contents(struct report *report, int file);
void add_section(struct report *report, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The children of a process in the order in which it started them; `most` + 1 where there are more. */
int list_children(pid_t pid, pid_t *into, int most);
/* What /proc says of a cell at its workload-ready boundary. */
void describe_cell(struct report *report, pid_t init, const pid_t *waiting, int count);

/*
 * Serves requests on descriptor 0 until it ends. Returns only in the interpreter of a cell whose language has a zygote,
 * and there only once the cell is at its workload-ready boundary.
 */
int serve_cells(const struct configuration *configuration);


/* Maps the users of a cell, and says so to it. */
void map_users(const struct cell *cell);
/* Finds what waits in a cell. 0, or -1 where it is not what should be there. */
int find_waiting(struct cell *cell, int expected);
/* Whether every process that waits is alive. */
int is_whole(const struct cell *cell);
/* Sets a job's limits on what waits and reads them back. 0, or -1 with `errno`. */
int limit_waiting(struct cell *cell, const unsigned long *limits);
/* Looks no more at what waits. */
void let_go(struct cell *cell);
/* Takes what process 1 has said. Returns whether that is how the program ended. */
int note(struct cell *cell, const char *text);

/* Runs as process 1 of a cell. `up` says to the launcher that the cell waits for its mapping; `down` that it has it. */
int become_cell(const struct configuration *, const struct request *, const struct pipes *, int up, int down);
/* Makes the file systems of a cell in its mount namespace, and changes to its root. */
void make_mounts(const struct configuration *configuration, uid_t root);

/* In a zygote, before it serves: its executable's data becomes memory that no file stands behind. */
void leave_executable(void);
/* In a cell of a zygote, as root of the host: its executable is the cell's own file of that name. */
void change_executable(void);

/* Goes on as process 1 with everything set up. Returns only in the interpreter of a zygote's cell. */
int run_init(const struct configuration *configuration);

/* Waits for the word on `go`, then executes the command with what it is told, and the fixed environment. */
void await_and_execute(const struct words *command, const struct words *fixed, int go) __attribute__((noreturn));

/* Ignored signals stay ignored over exec(2), and a zygote's handlers are not for process 1 of a cell. */
void reset_signals(void);

/* Ends this process with one line that says what failed and why. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* Where `fail` writes to: standard error, and in a cell that is being made, the launcher. */
extern int failures;

#endif
