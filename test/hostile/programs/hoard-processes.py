# Takes every process it may have and keeps them.
import os
import time

while True:
    try:
        if os.fork() == 0:
            time.sleep(600)
    except OSError:
        break
print("hoarded", flush=True)
time.sleep(600)
