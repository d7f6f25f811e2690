# Watches every directory of the host that a cell shows, and a file of its own, with one queue of events. When it reads
# an event of its own file, it has read all earlier events too. Prints each event that it reads.
import ctypes
import fcntl
import os
import signal
import struct
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
queue = libc.inotify_init1(os.O_NONBLOCK)
PLACES = [
    "/", "/etc", "/etc/passwd", "/etc/alternatives", "/svc/guest", "/svc/guest/launch.py", "/opt/svc/bin", "/opt/svc/bin/node",
    "/usr", "/usr/bin", "/usr/bin/perl", "/usr/bin/bash", "/usr/lib", os.path.dirname(os.__file__), os.__file__,
    os.path.realpath(sys.executable), "/proc/self/exe", "/dev", "/dev/null", "/dev/zero", "/dev/full", "/dev/random",
    "/dev/urandom", "/dev/tty", os.path.join(os.path.dirname(os.__file__), "__pycache__"),
    os.path.join(os.path.dirname(os.__file__), "lib-dynload"),
]
names = {}
for place in PLACES:
    watch = libc.inotify_add_watch(queue, place.encode(), 0xFFF)
    if watch >= 0:
        names[watch] = place
OWN = libc.inotify_add_watch(queue, b"/work/output", 0x100)  # IN_CREATE

told = []
signal.signal(signal.SIGIO, lambda *_: told.append("dnotify"))
opened = []
for place in PLACES:
    if os.path.isdir(place):
        opened.append(os.open(place, os.O_RDONLY))
        try:
            fcntl.fcntl(opened[-1], fcntl.F_NOTIFY, fcntl.DN_ACCESS | fcntl.DN_ATTRIB | fcntl.DN_MULTISHOT)
        except OSError:
            pass  # gVisor has no such thing.


def read_events():
    try:
        data = os.read(queue, 1 << 16)
    except BlockingIOError:
        return
    at = 0
    while at < len(data):
        watch, mask, _, length = struct.unpack_from("iIII", data, at)
        name = data[at + 16 : at + 16 + length].rstrip(b"\0").decode()
        at += 16 + length
        if watch == OWN:
            print(f"own {name}", flush=True)
        else:
            print(f"saw {names.get(watch)} {name} {mask:#x}", flush=True)


# Events of files that this program opened itself do not count.
while True:
    try:
        os.read(queue, 1 << 16)
    except BlockingIOError:
        break
told.clear()
print(f"watching {len(names)}", flush=True)
for number in range(10000):
    with open(f"/work/output/{number}", "w"):
        pass
    read_events()
    if told:
        print(f"saw by signal {told}", flush=True)
        told.clear()
    os.unlink(f"/work/output/{number}")
    time.sleep(0.02)
