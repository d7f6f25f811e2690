# Asks for the largest core file. Then a child, and after it the program itself, dies in a way that writes a core file.
import os
import resource
import signal

for limit in (resource.getrlimit(resource.RLIMIT_CORE)[1],):
    print("core limit", limit, flush=True)
if os.fork() == 0:
    os.kill(os.getpid(), signal.SIGSEGV)
os.wait()
print("left", sorted(name for name in os.listdir("/work") if "core" in name), flush=True)
os.abort()
