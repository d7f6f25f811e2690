# Closes its output and continues to run.
import os
import time

os.write(1, b"closing\n")
os.close(1)
os.close(2)
time.sleep(600)
