# Starts children that leave its session and fork without end: each forks a child and exits. Then the program exits.
import os
import time

for _ in range(8):
    if os.fork() == 0:
        os.setsid()
        while True:
            if os.fork():
                os._exit(0)
            time.sleep(0.0005)
time.sleep(1)
print("over", flush=True)
os._exit(0)
