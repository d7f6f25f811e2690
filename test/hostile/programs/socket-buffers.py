# Hides memory where it is in no process: in the buffers of sockets that nobody reads, a gigabyte in all of them. It ends
# well only if it was given that much.
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
            # The kernel has no more for buffers and says so: memory of its own is then what is too much.
            kept.append(bytearray(b"x" * (1 << 20)))


for _ in range(FILLERS):
    if os.fork() == 0:
        held = fill()
        os.write(says_full, b"f")
        signal.pause()
for _ in range(FILLERS):
    os.read(full, 1)
print("alive", flush=True)
