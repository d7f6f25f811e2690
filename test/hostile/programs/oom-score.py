# Tries to lower its OOM score, so that the kernel kills other processes first. Prints whether that worked, and waits.
import errno
import json
import time

answers = {}
for value in (999, 500, 0, -1000):
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(str(value))
        answers[value] = "written"
    except OSError as error:
        answers[value] = errno.errorcode[error.errno]
print(json.dumps(answers), flush=True)
time.sleep(float("@SECONDS@"))
