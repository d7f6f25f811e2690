# Forks until it is refused, every child forking on its own, and says how many processes it saw at most.
import errno
import os
import time

refusal = None
children = 0
while refusal is None and children < 5000:
    try:
        child = os.fork()
    except OSError as error:
        refusal = errno.errorcode[error.errno]
        break
    if child == 0:
        while True:
            time.sleep(1)
    children += 1
print(children, refusal, flush=True)
