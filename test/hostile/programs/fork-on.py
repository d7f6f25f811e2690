# Children that leave their session fork on and on: each parent ends at once. Then the program ends itself.
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
