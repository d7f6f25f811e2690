# Leaves a key in every keyring that it can name, and looks for a key that another program left.
import ctypes
import errno
import json

libc = ctypes.CDLL(None, use_errno=True)


def syscall(*arguments):
    ctypes.set_errno(0)
    result = libc.syscall(*[ctypes.c_long(value) if isinstance(value, int) else value for value in arguments])
    return "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]


left = {ring: syscall(248, b"user", b"left", b"behind", 6, ring) for ring in range(-8, 0)}
found = {ring: syscall(250, 10, ring, b"user", b"left", 0) for ring in range(-8, 0)}
print(json.dumps({"answers": sorted({*left.values(), *found.values(), syscall(249, b"user", b"left", 0, -3)})}))
