# Looks for another program's mark (given backwards), and tries to signal every possible process id.
import ctypes
import errno
import json
import os
import socket

MARK = "@MARK_REVERSED@"[::-1]
libc = ctypes.CDLL(None)
seen = []
for directory, names, files in os.walk("/", onerror=lambda error: None):
    if directory in ("/usr", "/sys"):
        names.clear()
    seen.extend(os.path.join(directory, name) for name in names + files if MARK in name)
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("cmdline", "environ", "comm", "mountinfo", "maps"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                if MARK[:15].encode() in file.read():
                    seen.append(f"/proc/{pid}/{name}")
        except OSError:
            continue
for name in (f"\0{MARK}", f"/tmp/{MARK}.socket"):
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(name)
            seen.append(repr(name))
        except OSError:
            continue
objects = {"shm": libc.shmget(0x5EC, 1, 0), "sem": libc.semget(0x5EC, 1, 0), "msg": libc.msgget(0x5EC, 0)}
seen.extend(name for name, value in objects.items() if value >= 0)
signalled = []
for pid in range(1, 4096):
    if pid == os.getpid():
        continue
    try:
        os.kill(pid, 0)
        signalled.append(pid)
    except OSError as error:
        if error.errno == errno.EPERM:
            signalled.append(-pid)
print(json.dumps({"seen": seen, "signalled": signalled, "processes": sum(name.isdigit() for name in os.listdir("/proc"))}))
