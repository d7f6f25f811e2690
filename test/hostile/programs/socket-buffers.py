# Hides memory outside of processes: one gigabyte in the buffers of sockets that nobody reads. The program succeeds only if it
# got that much.
import errno
import os
import signal
import socket

FILLERS = 40
full, says_full = os.pipe()


def fill():
    kept = []
    while True:
        try:
            kept.append(socket.socketpair())
            kept[-1][0].setblocking(False)
            while True:
                kept[-1][0].send(b"x" * 65536)
        except BlockingIOError:
            continue
        except OSError as error:
            if error.errno == errno.EMFILE:
                return kept
            # The kernel refuses more memory for buffers, so the program takes memory of its own to exceed the limit.
            kept.append(bytearray(b"x" * (1 << 20)))


for _ in range(FILLERS):
    if os.fork() == 0:
        held = fill()
        os.write(says_full, b"f")
        signal.pause()
for _ in range(FILLERS):
    os.read(full, 1)
print("alive", flush=True)
