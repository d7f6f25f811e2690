# Fills /tmp, and keeps it full.
import time

with open("/tmp/full", "wb") as file:
    try:
        while True:
            file.write(b"x" * (1 << 20))
    except OSError:
        pass
print("filled", flush=True)
time.sleep(600)
