# Makes a file of 1 TiB that is only a hole. The program ignores SIGXFSZ (the signal for too large a file) or dies of it.
import errno
import os
import signal
import sys

if "@IGNORE@" == "ignore":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
else:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
opened = os.open("/work/output/huge", os.O_WRONLY | os.O_CREAT)
try:
    os.ftruncate(opened, 1 << 40)
    print("made", flush=True)
except OSError as error:
    print(errno.errorcode[error.errno], flush=True)
try:
    os.pwrite(opened, b"x", 1 << 39)
    print("written", flush=True)
except OSError as error:
    print(errno.errorcode[error.errno], flush=True)
