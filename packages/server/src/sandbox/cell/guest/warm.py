# Before any job exists, loads what an interpreter needs for its one program, and takes the steps of a cell once.
import _imp
import atexit
import gc
import os
import sys

LAUNCH = "/svc/guest/launch.py"
EXAMPLE = "/svc/guest/example.py"
INTERRUPTED = -2


class Library:
    """The module specification that the loader of extension modules expects."""

    name = "launcher"
    origin = "/proc/self/fd/52"


def rehearse():
    """Takes the steps of a cell once. This fills Python's caches in the template. A cell that filled them would first
    have to copy their pages.
    """
    main, words = sys.modules["__main__"], sys.argv[:]
    (go, told), (heard, ready) = os.pipe(), os.pipe()
    os.write(told, b"1 0\n")
    os.close(told)
    await_program(go, ready)
    os.close(heard)
    execute(EXAMPLE, [])
    launcher.rehearse()
    sys.modules["__main__"], sys.argv[:] = main, words


def exit_code(ended):
    """The exit code that Python reports to the system for a SystemExit."""
    code = ended.code
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF if -(2**63) <= (code or 0) < 2**63 else 0xFF
    return 1


launcher = _imp.create_dynamic(Library)
launch = {"__name__": "launch", "__builtins__": __builtins__}
with open(LAUNCH, "rb") as file:
    exec(compile(file.read(), LAUNCH, "exec"), launch)
await_program, execute = launch["await_program"], launch["execute"]
launcher.remember()
# A program must find no module loaded that `python3` itself would not have loaded.
for name in ("atexit", "gc", "launcher"):
    del sys.modules[name]
# This is registered before any function of a program, so Python calls it after all of those functions.
atexit.register(launcher.end)
rehearse()
# Objects that exist now are never collected again: a collection would copy their pages.
gc.collect()
gc.freeze()
