# Spins in as many processes as `@PROCESSES@` says.
import os

for _ in range(@PROCESSES@ - 1):
    if os.fork() == 0:
        break
print("spinning", flush=True)
while True:
    pass
