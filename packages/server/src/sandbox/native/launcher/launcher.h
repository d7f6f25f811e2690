/*
 * The launcher is one small process for each language and runtime pack. It makes cells, and runs no code from a job or a pack.
 *
 *   main.c           reads the configuration, makes the filters, enters its own root, serves
 *   configuration.c  the configuration, as the service writes it
 *   filter.c         the system call filter, by libseccomp
 *   root.c           the root that every cell copies: read-only trees and nothing else of the host
 *   serve.c          requests from the service, and the protocol
 *   answer.c         messages to the service
 *   cells.c          every cell, from the request for it until nothing is left of it
 *   living.c         work on a cell from outside: its user mapping, its limits, its end
 *   limits.c         the limits of a job, by name
 *   groups.c         the control groups of a cell
 *   report.c         the kernel's report on a cell
 *   copies.c         asks the template for the interpreters of cells
 *   cell.c           namespaces, control group and privileges of one cell
 *   maker.c          the same for a cell whose interpreter is a copy of the template
 *   mounts.c         the file systems of one cell
 *   init.c           process 1 of a cell: the protocol with the service, and how the program ended
 *   command.c        what a cell executes once its program is released
 *   guest.c          the same process 1 as a separate program, for gVisor cells
 *   steps.c          steps that svc-stage and svc-sentry take, too
 *   failure.c        how the programs fail
 *
 * A template is an interpreter that is up. It runs in a cell of its own, as the job's user and without privileges, like any
 * program. It has loaded these files as an extension module, and each interpreter that it is asked for is a copy:
 *
 *   template.c       takes requests for copies
 *   move.c           a copy moves into its cell
 *   executable.c     gives the copy the executable file of its cell
 *   python.c         the end of a Python interpreter that is a copy
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

#include "../failure.h"
#include "../limits.h"
#include "../steps.h"

/* In the launcher's own root: where a cell builds its file system, and the layers of its trees, by number. */
#define CELL "/tmp/cell"
#define TREES "/tmp/trees"
/* The devices of the host that are shown to cells, if cells can make none. */
#define DEVICES "/tmp/devices"
/* In a cell: where the program is. */
#define WORK "/work"

enum {
    PATH_BYTES_MAX = 4096,
    WORDS_MAX = 256,         /* of any list of the configuration */
    GROUPS_MAX = 8,          /* hierarchies */
    WAITING_MAX = 2,         /* processes that wait in a cell: the interpreter and, for some languages, the compiler */
    ACCESS_BYTES_MAX = 96,   /* of one access to a file of a group */
    REPORT_BYTES_MAX = 256 * 1024,
    ID_BYTES_MAX = 64,
    LINE_BYTES = 128,        /* of a line from process 1 of a cell about its program */
    ORDER_BYTES = 256,       /* of a line to process 1 */
    CELLS_MAX = 4096,
    COPY_FILES_MAX = 7 + 5 + GROUPS_MAX,    /* namespaces; its ends of five pipes; groups */
};

/* Descriptors at known numbers: in a template and in a cell nothing else is open. */
enum {
    SERVICES_ENDS = 20,      /* and the two after it: the service's ends of a cell's pipes, which pipes.ts knows too */
    FILES = 23,              /* the file system that /work and the report are on, which the service opens too */
    TELL = 24, HEAR = 25,    /* process 1's ends of the pipes to a copy of the template */
    UP = 26, DOWN = 27,      /* between process 1 and the launcher: `DOWN` while the cell is made */
    SERVICES_TOOLS = 28,     /* and the one after it: the service's ends of the pipes for tools, if the program has tools */
    TOOL_ANSWERS = 30,       /* the program's ends: it reads answers here, and writes calls to the next. Below 17, Node would */
    TOOL_CALLS = 31,         /* close them when it starts itself anew for another size of its heap */
    GROUPS_FIRST = 40,       /* directories of groups, in the order of the configuration */
    ASKED = 51, LIBRARY = 52,    /* of a template: the socket of requests for copies, and its library */
};

/* How a cell gets its interpreter. */
enum kind {
    EXECUTED,    /* it is executed in the cell */
    COPIED,      /* a copy of the template moves into the cell */
    TEMPLATE,    /* it is the template: the cell is for no job */
};

/* One line of the configuration after its keyword, in up to two parts that a tab separates. */
struct words {
    char *first[WORDS_MAX];
    char *second[WORDS_MAX];
    int count;
};

/* A tree of the host that a cell sees. */
struct tree {
    unsigned long flags;       /* of mount(2) */
    char *source, *destination;
    char *name;                /* if the tree is a file, its name in its layer; else null */
};

struct configuration {
    int is_group_v2;
    struct words groups;       /* directories that hold the groups of cells, one for each hierarchy */
    struct words look;         /* accesses that read a cell's groups when it waits for a job */
    struct words usage;        /* accesses that read a cell's groups when its program is over */
    char *count;               /* the access that reads how many processes are in a cell */
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
    struct words compiler;     /* the command that compiles a program first; empty if there is none */
    struct words mounts;       /* path in the cell; type, flags and options, as mount(2) has them */
    char *work_size;           /* of /work and all below it, as tmpfs(5) reads it */
    unsigned long work_flags;  /* of /work besides nosuid and nodev */
    int has_one_user;          /* whether a cell has only the user that makes it, and no root */
    int shows_devices;         /* whether a cell has the host's devices: in a user namespace nobody can make devices */
    int has_loopback;          /* whether `lo` is up in a cell */
    int executes_late;         /* whether a command is executed only at the release, because it cannot wait itself */
    char *library;             /* that the template loads; null if interpreters are executed in their cells */
    char *template_cell;       /* the request for the template's cell: `ID UID ACCESS...` */
    uid_t users_first;         /* the users that cells get on the host, all of which the template's namespace can name */
    unsigned users_count;
    struct sock_fprog filter;
    struct sock_fprog template_filter;       /* the same filter and the call by which a copy moves into its cell */
    void (*say_ready)(pid_t interpreter);    /* at the workload-ready boundary; null if the launcher reports it instead */
    void (*say_ended)(void);                 /* when the end of the job is reported; null if nothing waits for it */
};

/* What the service asks for: an id, which is also the name of the cell's groups, and the host user that is root inside. */
struct request {
    char id[ID_BYTES_MAX];
    uid_t root;
    int has_tools;             /* whether its program may call tools */
};

/* Sections of text about one cell. */
struct report {
    size_t length;
    char text[REPORT_BYTES_MAX];
};

/* A cell as the launcher knows it, from its `clone3` until it is forgotten and gone. */
struct cell {
    struct request request;
    enum kind kind;
    pid_t pid;                          /* of process 1, 0 until it is known; no other process gets it while this is listed */
    pid_t maker;                        /* of a copy's cell: the process that makes process 1, until it was waited for */
    int copy[COPY_FILES_MAX];           /* what a copy will be given, until the template has it */
    int copy_files;
    unsigned long asked;                /* the number of the request to the template; 0 if it was answered */
    int up, down;                       /* `down` until it is made; `up` until process 1 has sent its last message */
    int is_up;                          /* whether process 1 has its interpreter */
    int is_made, is_over, has_ended, is_forgotten;
    int is_gone;                        /* it was refused: the next `bury` removes it */
    pid_t waiting[WAITING_MAX];         /* at the workload-ready boundary: a compiler, where there is one, and the interpreter */
    int handles[WAITING_MAX];           /* pidfds of them, until a job is handed over */
    int waiting_count;
    unsigned long held[LIMITS];         /* their resource limits, read back */
    int is_limited;
    char *refusal;                      /* why it could not be made, until its process 1 has ended; else null */
    char said[LINE_BYTES + 1];          /* the last message of process 1 about its program */
};

/* Every cell of this launcher that is not gone. */
extern struct cell *cells;
extern int cell_count;
/* Memory for data about cells. A child finds it empty, so nothing about one cell is in the memory of another. */
void *forgotten_memory(size_t length);
/* To be called before any cell is made. */
void prepare_cells(void);

void answer(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Sends the report after its line. */
void answer_with_report(const char *word, const struct cell *cell, const struct report *report);

/* Makes a cell and its groups. */
void make_cell(const struct configuration *configuration, enum kind kind, const struct request *request, const char *accesses);
/* Clones process 1 of a cell, or the maker of a copy's cell. */
pid_t clone_cell(const struct configuration *configuration, enum kind kind, const char *id);
/* Reports a cell as made, once process 1 has its interpreter and the maker of the cell, if there was one, has ended. */
void tell_if_made(const struct configuration *configuration, struct cell *cell);
/* Ends a cell that could not be made. */
void refuse(const struct configuration *configuration, struct cell *cell, const char *reason);
/* Makes the template's cell, and waits until the template can be asked for copies. */
void make_template(const struct configuration *configuration);
/* Ends this process, its cells and its template. */
void end_with_template(const struct configuration *configuration) __attribute__((noreturn));
/* Handles a cell's messages to the launcher. */
void hear(const struct configuration *configuration, struct cell *cell);
/*
 * Sets a job's limits on a cell, and reports the values that are read back. A cell with groups is then let go. A cell without
 * groups is killed by the id of its process 1, so that id is kept until the service forgets the cell.
 */
void hold(const struct configuration *configuration, struct cell *cell, const unsigned long *limits, const char *accesses);
/* Lets the cell go: the service has opened everything that it needs from the process. */
void forget(struct cell *cell);
/* Reports each cell that has ended. */
void look_for_endings(const struct configuration *configuration);
/* Removes each cell about which nothing is left to report, and reports its end. */
void bury(const struct configuration *configuration);

/* Asks the template for the copy that the cell's process 1 waits for. */
void ask_for_copy(const struct configuration *configuration, struct cell *cell);
/* Whether such a request still waits for the template's answer. */
int owes_copy(void);
/* Takes the template's answers. */
void hear_template(const struct configuration *configuration);
/* The launcher's end of the connection to its template, and the template's user namespace. -1 without a template. */
extern int template_socket, template_users;
/* The host user that is root in the template's cell. */
uid_t root_of_template(void);

/* Ends of a cell's pipes by stream: 0, 1, 2, then tool answers and tool calls. Only a copy has `tell` and `hear`. */
struct pipes {
    int count;
    int cells[5];
    int services[5];
    int tell[2], hear[2];
};

struct configuration *parse_configuration(char *text);
/* Fails if the configuration lacks something that a launcher needs. */
void require_complete(const struct configuration *configuration);
char *read_configuration(int descriptor);

/*
 * Makes a filter that always allows the call `allowed`, if that is not null. Calls of another architecture, 32-bit and
 * x32 among them, fail with the error `foreign`; if that is 0 they end the process with SIGSYS, libseccomp's default.
 */
struct sock_fprog make_filter(const struct words *rules, int otherwise, const char *allowed, int foreign);

void enter_root(const struct configuration *configuration);

/* The devices of a cell, without `/dev/`, and their numbers. */
extern const struct device { const char *name; unsigned major, minor; } devices[];
extern const int device_count;

/* For the groups of the cell with this id. These return 0, or -1 with `errno`. Either all groups are made, or none. */
void open_groups(const struct configuration *configuration);
int make_groups(const struct configuration *configuration, const char *id);
int remove_groups(const struct configuration *configuration, const char *id);
int open_group_v2(const char *id);
/*
 * Carries out `words` in order: `GROUP/FILE=VALUE` writes, `GROUP/FILE` reads and adds a section. Stops at the first
 * failure.
 */
int access_groups(const char *id, const char *words, struct report *report);
/* Whether the cell's groups hold only process 1, and nobody has waited for process 1 yet. */
int is_alone(const struct configuration *configuration, const char *id);

void begin_section(struct report *report, const char *name);
/* Adds a file. If it cannot be read, the section says so, and nothing is claimed. */
void add_file(struct report *report, const char *name, const char *path);
void add_namespaces(struct report *report, pid_t pid);
int add_contents(struct report *report, int file);
void add_section(struct report *report, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/*
 * The children of a process, in the order in which it started them. Returns their number, or `most` + 1 if there are
 * more.
 */
int list_children(pid_t pid, pid_t *into, int most);
/* What /proc says of a cell at its workload-ready boundary. */
void describe_cell(struct report *report, pid_t init, const pid_t *waiting, int count);

/* Serves requests on descriptor 0 until it ends. */
void serve_cells(const struct configuration *configuration) __attribute__((noreturn));

/* Maps a cell's users and reports this to the cell. In a copy's cell, the maker does this instead. */
void map_users(const struct configuration *configuration, const struct cell *cell);
/* The id that a cell's user has in the template's user namespace. */
unsigned template_id_of(const struct configuration *configuration, uid_t user);
/* Finds the waiting processes of a cell. Returns 0, or -1 if they are not as expected. */
int find_waiting(struct cell *cell, int expected);
/* Whether every process that waits is alive. */
int is_whole(const struct cell *cell);
/* Sets a job's limits on the waiting processes and reads them back. Returns 0, or -1 with `errno`. */
int limit_waiting(struct cell *cell, const unsigned long *limits);
/* Closes the handles of the waiting processes. */
void let_go(struct cell *cell);
/* Takes a message from process 1. Returns whether it reports the program's end. */
int note(struct cell *cell, const char *text);

/*
 * Runs as process 1 of a cell. On `up` it tells the launcher that the cell waits for its mapping; on `down` the
 * launcher says that this was done.
 */
void become_cell(const struct configuration *, enum kind, const struct request *, const struct pipes *, int up, int down)
    __attribute__((noreturn));
/* Runs as the maker of a copy's cell: makes process 1, maps the cell's users, tells process 1 to go on, and ends. */
void become_maker(const struct configuration *, const struct request *, const struct pipes *, int up, const int *down)
    __attribute__((noreturn));

/* Steps that process 1 and the maker both take. */
void place_descriptors(enum kind kind, const struct pipes *pipes, int up, int down);
void join_groups(const struct configuration *configuration, const char *id);
void become_root_of_cell(void);
/* Closes all that process 1 does not need. */
void close_others(enum kind kind, int has_tools);
/* Sets the loopback, the host's name and resource limits. */
void set_up_kernel(const struct configuration *configuration);
/* The last steps, once process 1 is root of its user namespace. Continues as process 1. */
void confine(const struct configuration *configuration, enum kind kind) __attribute__((noreturn));

/* Makes the file systems of a cell in its mount namespace, and changes to its root. */
void make_mounts(const struct configuration *configuration, uid_t root);
/* In a cell's own process namespace: mounts the cell's /proc over the maker's /proc. */
void make_own_proc(const struct configuration *configuration);
/* Covers files that reveal facts about the host or control it. */
void cover_kernel_files(const struct configuration *configuration);

/* In a template, before its first request: moves the data of its executable into memory without a file. */
void leave_executable(void);
/* In a copy, while it has the cell's capabilities: makes the cell's own file of the same name its executable. */
void change_executable(void);
/* Makes a copy of this process that moves into the cell of these files. Returns 1 in the copy; else 0, or -1 if it failed. */
int copy_into(const int *files, int count);

/* Continues as process 1 once everything is set up. If the descriptors for tools are open, they are the program's. */
void run_init(const struct configuration *configuration, enum kind kind) __attribute__((noreturn));

/* Waits for the release on `go`, then executes the command with its words and the fixed environment. */
void await_and_execute(const struct words *command, const struct words *fixed, int go) __attribute__((noreturn));

/* Gives up every privilege for good, and becomes the job's user. Works without capset(2), which the filter refuses. */
void drop_everything(void);

#endif
