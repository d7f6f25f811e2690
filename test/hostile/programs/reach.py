# Tries everything that could lead out of a cell, and prints the kernel's answers as one JSON object: "ok", the name of an
# errno, or the name of the signal that ended the try. The arguments do no harm even if a call succeeds. Numbers of system
# calls are those of x86-64; `number_here` has those of this machine.
import ctypes
import errno
import json
import mmap
import os
import signal
import socket
import struct

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
answers = {}


def name_of(error):
    return errno.errorcode.get(error, f"E{error}")


# Calls below 424 have other numbers on arm64, or do not exist there. Newer calls have the same number everywhere.
ON_ARM64 = {
    41: 198, 53: 199, 56: 220, 101: 117, 103: 116, 126: 91, 135: 92, 153: 58, 155: 41, 159: 171, 161: 51, 163: 89, 164: 170,
    165: 40, 166: 39, 167: 224, 168: 225, 169: 142, 170: 161, 171: 162, 175: 105, 176: 106, 179: 60, 180: 42, 206: 0,
    212: 18, 216: 234, 227: 112, 237: 235, 238: 237, 239: 236, 240: 180, 246: 104, 248: 217, 249: 218, 250: 219, 256: 238,
    272: 97, 278: 75, 279: 239, 298: 241, 300: 262, 302: 261, 303: 264, 304: 265, 305: 266, 308: 268, 310: 270, 311: 271,
    312: 272, 313: 273, 317: 277, 319: 279, 320: 294, 321: 280, 323: 282, 330: 289,
}
IS_ARM64 = os.uname().machine == "aarch64"
NEWER = 424


def number_here(number):
    return number if not IS_ARM64 or number >= NEWER else ON_ARM64.get(number, -1)


def syscall(number, *arguments):
    ctypes.set_errno(0)
    values = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = libc.syscall(ctypes.c_long(number_here(number)), *values)
    return "ok" if result >= 0 else name_of(ctypes.get_errno())


def attempt(action):
    try:
        return action() or "ok"
    except OSError as error:
        return name_of(error.errno)
    except (ValueError, OverflowError) as error:
        return type(error).__name__


def apart(action):
    """Tries the action in a child process, because its call may change or end the process that makes it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, attempt(action).encode())
        os._exit(0)
    os.close(writer)
    answer = os.read(reader, 64).decode()
    os.close(reader)
    status = os.waitpid(child, 0)[1]
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else answer


# -- Calls that a program has no business with, most of them refused before any argument is looked at.
NOTHING = ctypes.create_string_buffer(4096)
CALLS = {
    "acct": (163, 0), "add_key": (248, NOTHING, NOTHING, 0, 0, -3), "adjtimex": (159, NOTHING), "bpf": (321, 0, NOTHING, 48),
    "capset": (126, 0, 0), "chroot": (161, b"/work"), "clock_adjtime": (305, 0, NOTHING), "clock_settime": (227, 0, 0),
    "create_module": (174, 0, 0), "delete_module": (176, b"none", 0), "fanotify_init": (300, 0, 0),
    "finit_module": (313, -1, 0, 0), "fsconfig": (431, -1, 0, 0, 0, 0), "fsmount": (432, -1, 0, 0), "fsopen": (430, b"tmpfs", 0),
    "fspick": (433, -100, b"/work", 0), "get_mempolicy": (239, 0, 0, 0, 0, 0), "init_module": (175, 0, 0, 0),
    "io_setup": (206, 1, NOTHING), "io_uring_enter": (426, -1, 0, 0, 0, 0, 0), "io_uring_register": (427, -1, 0, 0, 0),
    "io_uring_setup": (425, 1, NOTHING), "ioperm": (173, 0, 1, 1), "iopl": (172, 3), "kcmp": (312, 1, 1, 0, 0, 0),
    "kexec_file_load": (320, -1, -1, 0, 0, 0), "kexec_load": (246, 0, 0, 0, 0), "keyctl": (250, 0, -3, 0, 0, 0),
    "lookup_dcookie": (212, 0, NOTHING, 8), "mbind": (237, 0, 0, 0, 0, 0, 0), "memfd_create": (319, b"m", 0),
    "memfd_secret": (447, 0), "migrate_pages": (256, 1, 0, 0, 0), "modify_ldt": (154, 0, NOTHING, 16),
    "mount": (165, b"none", b"/tmp", b"tmpfs", 0, 0), "mount_setattr": (442, -1, b"", 0, NOTHING, 32),
    "move_mount": (429, -1, b"", -1, b"", 0), "move_pages": (279, 1, 0, 0, 0, 0, 0), "mq_open": (240, b"m", 0o102, 0o600, 0),
    "name_to_handle_at": (303, -100, b"/work", NOTHING, NOTHING, 0), "nfsservctl": (180, 0, 0, 0),
    "open_by_handle_at": (304, -1, NOTHING, 0), "open_tree": (428, -100, b"/work", 1),
    "perf_event_open": (298, NOTHING, 0, -1, -1, 0),
    "pidfd_getfd": (438, -1, 0, 0), "pivot_root": (155, b"/work", b"/work"), "pkey_alloc": (330, 0, 0),
    "process_madvise": (440, -1, 0, 0, 0, 0), "process_mrelease": (448, -1, 0), "process_vm_readv": (310, 1, 0, 0, 0, 0, 0),
    "process_vm_writev": (311, 1, 0, 0, 0, 0, 0), "ptrace": (101, 16, 1, 0, 0), "quotactl": (179, 0x80000700, b"/dev/vda", 0, 0),
    "quotactl_fd": (443, -1, 0, 0, 0), "reboot": (169, 0, 0, 0, 0), "remap_file_pages": (216, 0, 0, 0, 0, 0),
    "request_key": (249, NOTHING, NOTHING, 0, 0), "seccomp": (317, 2, 0, NOTHING), "set_mempolicy": (238, 0, 0, 0),
    "setdomainname": (171, b"d", 1), "sethostname": (170, b"h", 1), "setns": (308, -1, 0), "settimeofday": (164, 0, 0),
    "swapoff": (168, b"/none"), "swapon": (167, b"/none", 0), "sysctl": (156, NOTHING), "sysfs": (139, 3),
    "syslog": (103, 10, 0, 0),
    "umount2": (166, b"/tmp", 2), "uselib": (134, b"/none"), "userfaultfd": (323, 1), "ustat": (136, 0, NOTHING),
    "vhangup": (153,), "vmsplice": (278, -1, 0, 0, 0),
}
for call, arguments in CALLS.items():
    answers[f"call {call}"] = apart(lambda arguments=arguments: syscall(*arguments))

# -- Namespaces: new ones by three calls, and the host's own through process 1.
KINDS = {"cgroup": 0x02000000, "ipc": 0x08000000, "mnt": 0x00020000, "net": 0x40000000, "pid": 0x20000000,
         "time": 0x00000080, "user": 0x10000000, "uts": 0x04000000}
for kind, flag in KINDS.items():
    answers[f"unshare {kind}"] = apart(lambda flag=flag: syscall(272, flag))
    if kind != "time":
        answers[f"clone {kind}"] = apart(lambda flag=flag: syscall(56, flag | signal.SIGCHLD, 0, 0, 0, 0))
    answers[f"clone3 {kind}"] = apart(
        lambda flag=flag: syscall(435, struct.pack("11Q", flag, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0), 88))
    answers[f"open /proc/1/ns/{kind}"] = attempt(lambda kind=kind: os.close(os.open(f"/proc/1/ns/{kind}", os.O_RDONLY)))

# -- Other entries into the kernel: int 0x80 (getpid of 32 bits) and the x32 numbers.
def run_code(code):
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    function = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    result = function()
    return "ok" if result > 0 else name_of(-result)


answers["entry int 0x80"] = apart(lambda: run_code(b"\xb8\x14\x00\x00\x00\xcd\x80\x48\x98\xc3"))
answers["entry x32"] = apart(lambda: syscall(0x40000000 | 39))

# -- Sockets of every family, by both calls that make them.
for family in range(1, 47):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        one = attempt(lambda: syscall(41, family, kind, 0))
        two = attempt(lambda: syscall(53, family, kind, 0, NOTHING))
        for how, answer in (("socket", one), ("socketpair", two)):
            key = f"{how} family {family}"
            if answers.get(key) != "ok":
                answers[key] = answer
for name, arguments in {"netlink route": (16, 3, 0), "netlink audit": (16, 3, 9), "mptcp": (2, 1, 262), "sctp": (2, 1, 132),
                        "icmp": (2, 2, 1), "raw icmp": (2, 3, 1)}.items():
    answers[f"socket {name}"] = attempt(lambda arguments=arguments: syscall(41, *arguments))

# -- Becoming someone else.
def put(path, text):
    opened = os.open(path, os.O_WRONLY)
    os.write(opened, text.encode())


for name, action in {
    "setuid 0": lambda: os.setuid(0), "setgid 0": lambda: os.setgid(0), "setgroups": lambda: os.setgroups([0]),
    "setresuid 0": lambda: os.setresuid(-1, 0, -1), "setfsuid 0": lambda: None if libc.setfsuid(0) == 0 else "EPERM",
    "chown to 0": lambda: (open("/work/mine", "w").close(), os.chown("/work/mine", 0, 0))[2:] and None,
    "nice -10": lambda: os.setpriority(os.PRIO_PROCESS, 0, -10) and None,
    "real time": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    "personality without randomization": lambda: syscall(135, 0x0040000),
    "mlock 1 MiB": lambda: (
        None if libc.mlock(ctypes.create_string_buffer(1 << 20), 1 << 20) == 0 else name_of(ctypes.get_errno())),
    "oom score -1000": lambda: put("/proc/self/oom_score_adj", "-1000"),
    "uid map": lambda: put("/proc/self/uid_map", "0 0 1"),
    "gid map": lambda: put("/proc/self/gid_map", "0 0 1"),
    "raise file limit": lambda: syscall(302, 0, 7, struct.pack("QQ", 1 << 20, 1 << 20), 0),
    "raise core limit": lambda: syscall(302, 0, 4, struct.pack("QQ", 1 << 20, 1 << 20), 0),
    "limits of process 1": lambda: syscall(302, 1, 7, struct.pack("QQ", 8, 8), 0),
}.items():
    answers[f"become: {name}"] = apart(action)

# -- Files of the kernel and of the host, devices, and the files that surround the program in its cell.
READ = """/dev/fuse /dev/hpet /dev/kmsg /dev/kvm /dev/loop-control /dev/loop0 /dev/mapper/control /dev/mem
/dev/net/tun /dev/port /dev/ptmx /dev/pts/0 /dev/rtc0 /dev/sda /dev/tty /dev/tty0 /dev/console /dev/uinput /dev/vda
/dev/vhost-net /dev/vhost-vsock /dev/vsock /etc/shadow /etc/ssh /etc/ssl/private /flag.txt /home /mnt /proc/1/auxv
/proc/1/cwd /proc/1/environ /proc/1/exe /proc/1/fd /proc/1/fd/0 /proc/1/io /proc/1/map_files /proc/1/maps /proc/1/mem
/proc/1/pagemap /proc/1/root /proc/1/stack /proc/1/syscall /proc/acpi/wakeup /proc/bus /proc/config.gz /proc/driver
/proc/fs /proc/iomem /proc/irq /proc/kallsyms /proc/kcore /proc/keys /proc/kmsg /proc/kpagecount /proc/latency_stats
/proc/locks /proc/sched_debug /proc/scsi/scsi /proc/slabinfo /proc/sys/kernel/core_pattern /proc/sysrq-trigger
/proc/timer_list /proc/tty /proc/vmallocinfo /root /run /run/containerd/containerd.sock /run/docker.sock /run/svc /srv
/svc/report /svc/report/ending /sys /sys/fs/cgroup /sys/firmware /sys/kernel/debug /sys/kernel/security
/sys/kernel/uevent_helper /var /var/lib /var/run/docker.sock""".split()
WRITE = """/ /dev /dev/kmsg /dev/mem /etc /etc/passwd /etc/shadow /etc/alternatives /opt/svc/bin /opt/svc/bin/node
/proc/1/clear_refs /proc/1/mem /proc/1/oom_score_adj /proc/1/exe /proc/self/exe /proc/self/setgroups
/proc/sys/fs/binfmt_misc/register /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/kernel/modprobe
/proc/sys/kernel/ns_last_pid /proc/sys/kernel/randomize_va_space /proc/sys/kernel/yama/ptrace_scope
/proc/sys/net/ipv4/ip_forward /proc/sys/vm/drop_caches /proc/sys/vm/overcommit_memory /proc/sysrq-trigger /svc
/svc/guest /svc/init /svc/report /svc/report/ending /sys/fs/cgroup /sys/fs/cgroup/cgroup.procs
/sys/kernel/uevent_helper /tmp /usr /usr/bin /usr/bin/perl /usr/bin/python3 /usr/local /work /work/input /work/output
/dev/shm""".split()


def open_for_write(path):
    if os.path.isdir(path):
        probe = os.path.join(path, "probe")
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT, 0o600))
        os.unlink(probe)
    else:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))


def open_for_read(path):
    """Returns "empty" for a masked file, which opens but has no content. A directory is read if it lists anything."""
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    found = os.listdir(opened) if os.path.isdir(path) else os.read(opened, 1)
    os.close(opened)
    return "ok" if found else "empty"


for path in READ:
    answers[f"read {path}"] = attempt(lambda path=path: open_for_read(path))
for path in WRITE:
    answers[f"write {path}"] = attempt(lambda path=path: open_for_write(path))

# -- Making devices, links, a setuid file and attributes, and moving the inputs.
for name, action in {
    "character device": lambda: os.mknod("/work/null", 0o20666, os.makedev(1, 3)),
    "block device": lambda: os.mknod("/work/vda", 0o60666, os.makedev(254, 0)),
    "hard link to an input": lambda: os.link("/work/input/given", "/work/output/given"),
    "hard link to /usr": lambda: os.link("/usr/bin/su", "/work/output/su"),
    "symbolic link": lambda: os.symlink("/etc", "/work/link"),
    "rename of input": lambda: os.rename("/work/input", "/work/inputs"),
    "removal of input": lambda: os.rmdir("/work/input"),
    "setuid bit": lambda: (open("/work/set", "w").close(), os.chmod("/work/set", 0o4755))[2:] and None,
    "security xattr": lambda: os.setxattr("/work", "security.capability", b"\x01\x00\x00\x02" + b"\xff" * 16),
    "trusted xattr": lambda: os.setxattr("/work", "trusted.x", b"x"),
}.items():
    answers[f"make: {name}"] = attempt(action)

print(json.dumps(answers))
