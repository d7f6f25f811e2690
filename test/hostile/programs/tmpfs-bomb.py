# Fills every place that it may write to. Prints how much each place took, and what stopped it.
import errno
import json
import os

taken = {}
for place in ("/work/output", "/tmp", "/dev/shm"):
    size, answer = 0, "ok"
    for number in range(64):
        try:
            opened = os.open(f"{place}/{number}", os.O_WRONLY | os.O_CREAT)
            for _ in range(8):
                size += os.write(opened, b"x" * (1 << 20))
            os.close(opened)
        except OSError as error:
            answer = errno.errorcode[error.errno]
            break
    taken[place] = [size, answer]
print(json.dumps(taken))
