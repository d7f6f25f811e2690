# Tries to evade the CPU limit with many processes that each stay below the limit: each process spins a little, and then
# forks a child that spins next. The first process never ends by itself.
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
