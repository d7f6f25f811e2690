# Makes a new terminal, and tries the two requests that reach beyond it: another line discipline, for which the kernel
# loads a module, and input that nobody typed. Then tries both with request numbers of which only the lower half agrees
# with the real numbers.
import ctypes
import errno
import fcntl
import json
import os

TIOCGWINSZ, TIOCSTI, TIOCSETD = 0x5413, 0x5412, 0x5423
N_GSM0710 = 21

libc = ctypes.CDLL(None, use_errno=True)
main, terminal = os.openpty()


def ask(descriptor, number, argument):
    if libc.syscall(ctypes.c_long(16), ctypes.c_long(descriptor), ctypes.c_long(number), argument) == 0:
        return "ok"
    return errno.errorcode[ctypes.get_errno()]


discipline = ctypes.byref(ctypes.c_int(N_GSM0710))
high = 1 << 32
print(json.dumps({
    "size": ask(terminal, TIOCGWINSZ, ctypes.create_string_buffer(8)),
    "discipline": ask(terminal, TIOCSETD, discipline),
    "discipline, high": ask(terminal, high | TIOCSETD, discipline),
    "type": ask(terminal, TIOCSTI, b"x"),
    "type, high": ask(terminal, high | TIOCSTI, b"x"),
}))
