/*
 * The launcher: one small process for each language and runtime pack that forks cells. It never runs anything of a job.
 *
 *   main.c           reads the configuration, makes the filter, enters a root of its own, serves or becomes a zygote
 *   configuration.c  the configuration, as the service writes it
 *   filter.c         the system call filter, by libseccomp
 *   root.c           the root that every cell copies: read-only trees and nothing else of the host
 *   serve.c          requests in, forked cells out; gives each its user mapping and says how it ended
 *   cell.c           namespaces, control group and privileges of one cell
 *   mounts.c         what one cell sees
 *   executable.c     gives the interpreter of a cell that was forked the executable file of that cell
 *   init.c           process 1 of a cell: the conversation with the service, and how the program ended
 *   command.c        what a cell executes once its program is released
 *   guest.c          the same process 1 as a program of its own, for cells of gVisor
 *   failure.c        how any of them fails
 *   python.c         the end of a Python interpreter that was forked
 *
 * A zygote is an interpreter that has loaded this code as a library and called `serve_cells`: the interpreter of each
 * cell is then a fork of it. For other languages the interpreter is executed in the cell.
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
    ID_BYTES_MAX = 64,
    LINE_BYTES = 64,         /* of a line to process 1 of a cell */
    CELLS_MAX = 4096,
    JOB_UID = 1000,
};

/* Descriptors at known numbers: in a zygote and in a cell nothing else is open. */
enum {
    SERVICES_ENDS = 20,      /* and the two after it: the service's ends of a cell's pipes, which pipes.ts knows too */
    FILES = 23,              /* the file system that /work and the report are on, which the service opens too */
    UP = 26, DOWN = 27,      /* between a cell that is being made and the launcher */
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

/* The ends of a cell's pipes, by stream: 0, 1 and 2. */
struct pipes {
    int cells[3];
    int services[3];
};

struct configuration *parse_configuration(char *text);
char *read_configuration(int descriptor);

struct sock_fprog make_filter(const struct words *rules, int otherwise);

void enter_root(const struct configuration *configuration);
void open_groups(const struct configuration *configuration);
int open_group_v2(const char *id);

/*
 * Serves requests on descriptor 0 until it ends. Returns only in the interpreter of a cell whose language has a zygote,
 * and there only once the cell is at its workload-ready boundary.
 */
int serve_cells(const struct configuration *configuration);


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
