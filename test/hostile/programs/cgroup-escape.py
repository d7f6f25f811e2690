# Looks for any way to its control group: a mount, a new mount, the release agent, the files of its processes.
import ctypes
import errno
import json
import os

libc = ctypes.CDLL(None, use_errno=True)


def mount(kind, options):
    ctypes.set_errno(0)
    result = libc.mount(b"none", b"/tmp", kind, 0, options)
    return "ok" if result == 0 else errno.errorcode[ctypes.get_errno()]


with open("/proc/self/mountinfo") as file:
    mounts = [line.split()[4] for line in file if line.split(" - ")[1].split()[0].startswith("cgroup")]
found = [
    os.path.join(directory, name)
    for directory, _, names in os.walk("/sys", onerror=lambda error: None)
    for name in names
    if name in ("cgroup.procs", "tasks", "release_agent", "notify_on_release")
]
membership = ""
if os.path.exists("/proc/self/cgroup"):
    with open("/proc/self/cgroup") as file:
        membership = file.read()
print(json.dumps({
    "mounts": mounts,
    "found": found,
    "new v1": mount(b"cgroup", b"memory"),
    "new v2": mount(b"cgroup2", None),
    "paths": sorted({line.split(":", 2)[2] for line in membership.splitlines()}),
}))
