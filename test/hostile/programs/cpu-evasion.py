# Starts a new process before the CPU limit of one process is reached: every child spins a little, and then leaves the rest to
# a child of its own. The first process never ends by itself.
import os
import time

first = os.getpid()
while True:
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    if os.fork() > 0:
        if os.getpid() != first:
            os._exit(0)
        while True:
            time.sleep(0.1)
