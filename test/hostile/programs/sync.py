# Asks the kernel to write everything to disk, and then to write one file of this program to disk.
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.sync()
for path in ("/", "/usr", "/work", "/tmp"):
    opened = os.open(path, os.O_RDONLY)
    print(path, libc.syncfs(opened), flush=True)
with open("/work/output/file", "w") as file:
    file.write("written")
    file.flush()
    os.fsync(file.fileno())
    os.fdatasync(file.fileno())
print("done", flush=True)
