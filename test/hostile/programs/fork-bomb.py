# Forks up to 5,000 children that only sleep. Prints how many it forked, and the refusal that stopped it.
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
