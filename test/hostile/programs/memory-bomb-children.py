# Many children take memory, while the parent ends as if all were well.
import os
import time

for _ in range(8):
    if os.fork() == 0:
        taken = []
        while True:
            taken.append(b"x" * (1 << 20))
os.wait()
os._exit(0)
