# Walks the kernel's own file systems and prints every file that can be opened for writing. Leaves out the files of
# processes, and masked files, which are the null device. Writes nothing.
import json
import os

opened = []
for top in ("/proc", "/sys"):
    for directory, names, files in os.walk(top):
        if directory == "/proc":
            names[:] = [name for name in names if not name.isdigit() and name not in ("self", "thread-self")]
        for name in files:
            path = os.path.join(directory, name)
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
                if os.fstat(descriptor).st_rdev != os.makedev(1, 3):
                    opened.append(path)
                os.close(descriptor)
            except OSError:
                continue
print(json.dumps({"opened": opened}))
