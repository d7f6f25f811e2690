# Hides memory where it is in no process: in the buffers of sockets and pipes that nobody reads.
import os
import socket
import sys
import time

for _ in range(40):
    if os.fork() == 0:
        kept = []
        try:
            while True:
                pair = socket.socketpair()
                pair[0].setblocking(False)
                kept.append(pair)
                try:
                    while True:
                        pair[0].send(b"x" * 65536)
                except BlockingIOError:
                    pass
        except OSError:
            pass
        time.sleep(600)
time.sleep(3)
print("alive", flush=True)
