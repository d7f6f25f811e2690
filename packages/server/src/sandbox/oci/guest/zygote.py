# An interpreter that is up before any job exists. The interpreter of each cell is a fork of it: `serve_as_zygote` (see
# launcher.h) returns in a cell only, and never in the zygote. Then `launch.py` runs as if it had been started.
import ctypes
import gc
import sys

LAUNCH = "/svc/guest/launch.py"

launcher = ctypes.PyDLL("/proc/self/fd/52")
after_fork = ctypes.pythonapi.PyOS_AfterFork_Child
after_fork.restype = None
with open(LAUNCH, "rb") as file:
    launch = compile(file.read(), LAUNCH, "exec")
# A program finds no module loaded that `python3` itself would not have loaded.
for name in ("ctypes", "ctypes._endian", "_ctypes", "struct", "_struct"):
    sys.modules.pop(name, None)
# What is here now is never collected again: a collection would copy the pages it is on.
gc.collect()
gc.freeze()
launcher.serve_as_zygote()
after_fork()
exec(launch, {"__name__": "__main__", "__builtins__": __builtins__})
