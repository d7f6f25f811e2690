# Ignores every signal there is, in itself and in a child of another session.
import os
import signal

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
if os.fork() == 0:
    os.setsid()
print("deaf", flush=True)
while True:
    signal.pause()
