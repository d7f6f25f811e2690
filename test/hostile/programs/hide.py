# Leaves its mark wherever another program might look: files, shared memory, sockets, its own arguments and environment.
# Then waits for a line on standard input.
import ctypes
import os
import socket
import sys

MARK = "@MARK@"
for place in ("/work", "/work/output", "/tmp", "/dev/shm"):
    with open(f"{place}/{MARK}", "w") as file:
        file.write(MARK)
libc = ctypes.CDLL(None)
libc.shmget(0x5EC, 4096, 0o1666)
libc.semget(0x5EC, 1, 0o1666)
libc.msgget(0x5EC, 0o1666)
abstract = socket.socket(socket.AF_UNIX)
abstract.bind(f"\0{MARK}")
abstract.listen()
named = socket.socket(socket.AF_UNIX)
named.bind(f"/tmp/{MARK}.socket")
named.listen()
libc.prctl(15, MARK[:15].encode(), 0, 0, 0)
if os.fork() == 0:
    os.execve("/usr/bin/sleep", ["sleep-" + MARK, "600"], {"MARK": MARK})
print("hidden", flush=True)
abstract.settimeout(@SECONDS@)
try:
    abstract.accept()
    print("found", flush=True)
except TimeoutError:
    print("unseen", flush=True)
