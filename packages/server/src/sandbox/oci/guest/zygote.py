# An interpreter that is up before any job exists. The interpreter of each cell is a fork of it: `serve_as_zygote` (see
# launcher.h) returns in a cell only, and never in the zygote. Then `launch.py` goes on as if it had been started.
import atexit
import ctypes
import gc
import sys

LAUNCH = "/svc/guest/launch.py"
INTERRUPTED = -2

launcher = ctypes.PyDLL("/proc/self/fd/52")
after_fork = ctypes.pythonapi.PyOS_AfterFork_Child
after_fork.restype = None
launch = {"__name__": "launch", "__builtins__": __builtins__}
with open(LAUNCH, "rb") as file:
    exec(compile(file.read(), LAUNCH, "exec"), launch)
run = launch["run"]


def exit_code(ended):
    """The code of a SystemExit, as Python tells it to the system."""
    code = ended.code
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF if -(2**63) <= (code or 0) < 2**63 else 0xFF
    return 1


# A program finds no module loaded that `python3` itself would not have loaded.
for name in ("atexit", "ctypes", "ctypes._endian", "_ctypes", "gc", "struct", "_struct", "types"):
    sys.modules.pop(name, None)
# Registered before any function of a program's, it is called after all of them.
if launcher.remember_interpreter() == 0:
    atexit.register(launcher.end_program)
# What is here now is never collected again: a collection would copy the pages it is on.
gc.collect()
gc.freeze()
launcher.serve_as_zygote()
after_fork()
try:
    run()
    launcher.note_ending(0)
except SystemExit as ended:
    launcher.note_ending(exit_code(ended))
    raise
except KeyboardInterrupt:
    launcher.note_ending(INTERRUPTED)
    raise
