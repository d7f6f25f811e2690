# Kills itself with the signal that the kernel sends at a limit.
import os
import signal

os.kill(os.getpid(), signal.@SIGNAL@)
