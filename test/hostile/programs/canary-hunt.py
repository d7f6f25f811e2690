# Reads every file it can, except the host's system tree, and prints where it sees a planted secret: in a file's name or
# content, or in what the kernel shows about processes. The secret is given backwards, so that this source lacks it.
import json
import os

CANARY = "@CANARY_REVERSED@"[::-1].encode()
seen, files = [], 0
for directory, names, entries in os.walk("/", onerror=lambda error: None):
    if directory in ("/usr", "/sys"):
        names.clear()
        continue
    if directory == "/proc/self" or directory.startswith("/proc/self/task") or "/task/" in directory:
        names.clear()
    for name in names + entries:
        path = os.path.join(directory, name)
        if CANARY in path.encode(errors="surrogateescape"):
            seen.append(path)
    for name in entries:
        path = os.path.join(directory, name)
        try:
            opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            content = os.read(opened, 1 << 20)
            files += 1
            if CANARY in content:
                seen.append(path)
        except OSError:
            pass
        finally:
            os.close(opened)
print(json.dumps({"seen": seen, "files": files}))
