# Tries to change, remove, replace and add inputs.
import errno
import json
import os


def attempt(action):
    try:
        action()
        return "ok"
    except OSError as error:
        return errno.errorcode[error.errno]


print(json.dumps({
    "write": attempt(lambda: os.open("input/given", os.O_WRONLY)),
    "truncate": attempt(lambda: os.truncate("input/given", 0)),
    "chmod": attempt(lambda: os.chmod("input/given", 0o777)),
    "remove": attempt(lambda: os.unlink("input/given")),
    "add": attempt(lambda: os.open("input/added", os.O_WRONLY | os.O_CREAT)),
    "rename": attempt(lambda: os.rename("input", "inputs")),
    "replace": attempt(lambda: os.rename("output", "input")),
    "times": attempt(lambda: os.utime("input/given", (0, 0))),
    "content": open("input/given").read(),
}))
