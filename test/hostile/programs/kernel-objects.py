# Makes up to 5,000 kernel objects of each kind, and prints how many it made and the refusal that stopped it.
import ctypes
import errno
import json
import os

libc = ctypes.CDLL(None, use_errno=True)
MOST = 5_000


def count(make):
    for number in range(MOST):
        ctypes.set_errno(0)
        try:
            if make(number) < 0:
                return [number, errno.errorcode[ctypes.get_errno()]]
        except OSError as error:
            return [number, errno.errorcode[error.errno]]
    return [MOST, "ok"]


def timer(_):
    identity = ctypes.c_int()
    return libc.timer_create(1, None, ctypes.byref(identity))



def queued(number):
    return libc.sigqueue(os.getpid(), 35, None)



keep = []


def lock(_):
    block = ctypes.create_string_buffer(8192)
    keep.append(block)
    return libc.mlock(block, 4096)


libc.sigqueue.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
mask = (ctypes.c_ulong * 16)(1 << 34)
libc.sigprocmask(0, mask, None)
counted = {
    "timers": count(timer),
    "queued signals": count(queued),
    "locked pages": count(lock),
    "message queues": count(lambda number: libc.mq_open(f"/{number}".encode(), 0o102, 0o600, None)),
    "semaphore sets": count(lambda number: libc.semget(0, 1, 0o1600)),
    "shared segments": count(lambda number: libc.shmget(0, 1 << 20, 0o1600)),
    "inotify": count(lambda number: libc.inotify_init()),
}
print(json.dumps(counted))
