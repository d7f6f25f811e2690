# Leaves a short-lived grandchild in a session of its own, with every descriptor closed, and ends.
import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 64)
        time.sleep(3)
    os._exit(0)
os.wait()
print("left one", flush=True)
