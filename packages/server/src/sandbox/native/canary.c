/*
 * svc-canary PROCESSES MEGABYTES: tries each thing that a cell must refuse, and writes the result of each in one line:
 * `mount: Operation not permitted`, or `mount: allowed`. It runs as a job's program and must not need anything that a
 * pack may lack, so it uses no library, but only system calls. If it is killed for its memory, it does not write the
 * last line, and the kill itself is the result.
 *
 * A try must do no harm if it is allowed, because the program may then be on the host. So each try asks for something senseless:
 * an unknown file system, a module of no bytes, the present root. The kernel looks at the request only if the caller may make it.
 */

typedef unsigned long word;

#if defined(__x86_64__)
enum { WRITE = 1, MMAP = 9, NANOSLEEP = 35, SOCKET = 41, CONNECT = 42, CLONE = 56, EXIT = 60, WAIT4 = 61, KILL = 62 };
enum { GETUID = 102, SETUID = 105, PTRACE = 101, CHROOT = 161, MOUNT = 165, INIT_MODULE = 175, OPENAT = 257 };
enum { FACCESSAT = 269, UNSHARE = 272, BPF = 321 };

static long call(long number, word a, word b, word c, word d, word e) {
  long result;
  register word fourth __asm__("r10") = d;
  register word fifth __asm__("r8") = e;
  register word sixth __asm__("r9") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return result;
}
__asm__(".globl _start\n_start:\n mov %rsp, %rdi\n and $-16, %rsp\n call start\n");
#elif defined(__aarch64__)
enum { WRITE = 64, MMAP = 222, NANOSLEEP = 101, SOCKET = 198, CONNECT = 203, CLONE = 220, EXIT = 93, WAIT4 = 260, KILL = 129 };
enum { GETUID = 174, SETUID = 146, PTRACE = 117, CHROOT = 51, MOUNT = 40, INIT_MODULE = 105, OPENAT = 56 };
enum { FACCESSAT = 48, UNSHARE = 97, BPF = 280 };

static long call(long number, word a, word b, word c, word d, word e) {
  register word x8 __asm__("x8") = number;
  register word x0 __asm__("x0") = a;
  register word x1 __asm__("x1") = b;
  register word x2 __asm__("x2") = c;
  register word x3 __asm__("x3") = d;
  register word x4 __asm__("x4") = e;
  register word x5 __asm__("x5") = 0;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}
__asm__(".globl _start\n_start:\n mov x0, sp\n bl start\n");
#else
#error "no system calls are known for this processor"
#endif

enum { PROCESSES_MAX = 256, LINE_BYTES = 128, PAGE = 4096, MEBIBYTE = 1 << 20 };
enum { SIGKILL_ = 9, SIGCHLD_ = 17, NEW_USER = 0x10000000, SEIZE = 0x4206, HERE = -100, ONLY_WRITE = 01, MAY_WRITE = 2 };
enum { IPV4 = 2, IPV6 = 10, DATAGRAM = 2, READ_AND_WRITE = 3, PRIVATE_AND_ANONYMOUS = 0x22 };

/* The kernel's words for an error. Any other error is reported by its number. */
static const struct {
  int number;
  const char *words;
} ERRORS[] = {
    {1, "Operation not permitted"},
    {2, "No such file or directory"},
    {3, "No such process"},
    {5, "Input/output error"},
    {11, "Resource temporarily unavailable"},
    {12, "Cannot allocate memory"},
    {13, "Permission denied"},
    {14, "Bad address"},
    {19, "No such device"},
    {22, "Invalid argument"},
    {30, "Read-only file system"},
    {38, "Function not implemented"},
    {97, "Address family not supported by protocol"},
    {101, "Network is unreachable"},
    {113, "No route to host"},
};

static char *append(char *end, const char *text) {
  while (*text != '\0') *end++ = *text++;
  return end;
}

static char *append_number(char *end, long number) {
  char digits[20];
  int count = 0;
  do digits[count++] = '0' + number % 10;
  while ((number /= 10) != 0);
  while (count > 0) *end++ = digits[--count];
  return end;
}

static char *append_words(char *end, long result) {
  if (result >= 0) return append(end, "allowed");
  for (word at = 0; at < sizeof ERRORS / sizeof *ERRORS; at++)
    if (ERRORS[at].number == -result) return append(end, ERRORS[at].words);
  return append_number(append(end, "error "), -result);
}

static void tell(const char *tried, long result) {
  char line[LINE_BYTES];
  char *end = append(append_words(append(append(line, tried), ": "), result), "\n");
  call(WRITE, 1, (word)line, end - line, 0, 0);
}

/* Whether the kernel has a route to the address. Nothing is sent. */
static long way_to(const void *address, word bytes, word family) {
  long socket = call(SOCKET, family, DATAGRAM, 0, 0, 0);
  return socket < 0 ? socket : call(CONNECT, socket, (word)address, bytes, 0, 0);
}

/* A child makes the call, because the call changes the process that makes it. The child's status is the number of the error. */
static long of_another(long number, word argument) {
  long child = call(CLONE, SIGCHLD_, 0, 0, 0, 0);
  if (child < 0) return child;
  if (child == 0) call(EXIT, -call(number, argument, 0, 0, 0, 0), 0, 0, 0, 0);
  int status = 0;
  call(WAIT4, child, (word)&status, 0, 0, 0);
  return (status & 0x7f) != 0 ? -4 : -(status >> 8 & 0xff);
}

/* Makes as many children as the cell may have processes: one too many, because this process counts, too. */
static long more_processes(long count) {
  static long children[PROCESSES_MAX];
  long made = 0;
  long result = 0;
  while (made < count && made < PROCESSES_MAX) {
    result = call(CLONE, SIGCHLD_, 0, 0, 0, 0);
    if (result < 0) break;
    if (result == 0)
      for (word seconds[2] = {60, 0};;) call(NANOSLEEP, (word)seconds, 0, 0, 0, 0);
    children[made++] = result;
  }
  for (long at = 0; at < made; at++) call(KILL, children[at], SIGKILL_, 0, 0, 0);
  for (long at = 0; at < made; at++) call(WAIT4, children[at], 0, 0, 0, 0);
  return result;
}

/* Takes more memory than the cell may have, for longer than a watcher needs to notice. */
static long more_memory(long mebibytes) {
  word bytes = (word)mebibytes * MEBIBYTE;
  /* The sixth argument, the offset, is always 0. */
  long start = call(MMAP, 0, bytes, READ_AND_WRITE, PRIVATE_AND_ANONYMOUS, -1);
  if (start < 0 && start > -PAGE) return start;
  for (word at = 0; at < bytes; at += PAGE) ((volatile char *)start)[at] = 1;
  word second[2] = {1, 0};
  call(NANOSLEEP, (word)second, 0, 0, 0, 0);
  return 0;
}

static long number_in(const char *text) {
  long number = 0;
  while (*text >= '0' && *text <= '9') number = number * 10 + (*text++ - '0');
  return number;
}

/* Addresses reserved for documentation, which nobody has, and the address at which clouds offer their metadata. */
static const unsigned char NOBODY_4[16] = {IPV4, 0, 0, 9, 192, 0, 2, 1};
static const unsigned char METADATA[16] = {IPV4, 0, 0, 80, 169, 254, 169, 254};
static const unsigned char NOBODY_6[28] = {IPV6, 0, 0, 9, 0, 0, 0, 0, 0x20, 0x01, 0x0d, 0xb8, [23] = 1};

__attribute__((used, noreturn)) static void start(word *stack) {
  char **arguments = (char **)(stack + 1);
  if (stack[0] != 3) call(EXIT, 2, 0, 0, 0, 0);
  tell("mount", call(MOUNT, (word) "none", (word) "/", (word) "canary", 0, 0));
  /* Unlike `PTRACE_ATTACH`, this request stops no process, and it ends with this process. */
  tell("ptrace", call(PTRACE, SEIZE, 1, 0, 0, 0));
  tell("chroot", call(CHROOT, (word) "/", 0, 0, 0, 0));
  if (call(GETUID, 0, 0, 0, 0, 0) != 0) tell("setuid_0", of_another(SETUID, 0));
  tell("bpf", call(BPF, 0, 0, 0, 0, 0));
  tell("init_module", call(INIT_MODULE, 0, 0, (word) "", 0, 0));
  tell("egress_ipv4", way_to(NOBODY_4, sizeof NOBODY_4, IPV4));
  tell("egress_ipv6", way_to(NOBODY_6, sizeof NOBODY_6, IPV6));
  tell("egress_metadata", way_to(METADATA, sizeof METADATA, IPV4));
  tell("write_etc", call(FACCESSAT, HERE, (word) "/etc", MAY_WRITE, 0, 0));
  tell("write_proc_sys", call(OPENAT, HERE, (word) "/proc/sys/kernel/hostname", ONLY_WRITE, 0, 0));
  tell("unshare_user", of_another(UNSHARE, NEW_USER));
  tell("processes", more_processes(number_in(arguments[1])));
  tell("memory", more_memory(number_in(arguments[2])));
  call(EXIT, 0, 0, 0, 0, 0);
  __builtin_unreachable();
}
