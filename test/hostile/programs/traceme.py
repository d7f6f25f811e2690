# Asks to be traced, and stops. A supervisor that mistakes the stop for an end would report an end, or spin.
import ctypes
import os
import signal

traced = ctypes.CDLL(None).ptrace(0, 0, 0, 0)
print("traced" if traced == 0 else "refused", flush=True)
if traced == 0:
    os.kill(os.getpid(), signal.SIGUSR1)
os._exit(5)
