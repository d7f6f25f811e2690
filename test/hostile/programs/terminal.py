# Tries to type into its controlling terminal, if it has one, and into whatever its standard descriptors are.
import errno
import fcntl
import json
import os

TIOCSTI, TIOCLINUX, TIOCSCTTY = 0x5412, 0x541C, 0x540E


def attempt(action):
    try:
        action()
        return "ok"
    except OSError as error:
        return errno.errorcode[error.errno]


answers = {}
for descriptor in range(3):
    answers[f"type {descriptor}"] = attempt(lambda: fcntl.ioctl(descriptor, TIOCSTI, b"x"))
    answers[f"linux {descriptor}"] = attempt(lambda: fcntl.ioctl(descriptor, TIOCLINUX, b"\x02"))
    answers[f"own {descriptor}"] = attempt(lambda: fcntl.ioctl(descriptor, TIOCSCTTY, 0))
answers["terminal"] = attempt(lambda: os.open("/dev/tty", os.O_RDWR | os.O_NONBLOCK))
print(json.dumps(answers))
