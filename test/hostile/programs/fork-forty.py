# Forks forty children that live at the same time, and prints how many it got.
import os
import time

children = []
for _ in range(40):
    try:
        child = os.fork()
    except OSError:
        break
    if child == 0:
        time.sleep(600)
    children.append(child)
print(len(children), "of 40")
