# Opens files until the kernel refuses.
import errno
import os

opened = []
try:
    while True:
        opened.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    print(len(opened), errno.errorcode[error.errno])
