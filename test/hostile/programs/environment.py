# Prints its own environment, and that of every process whose environment it may read.
import json
import os

others = {}
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            others[pid] = sorted(filter(None, file.read().decode(errors="replace").split("\0")))
    except OSError:
        continue
print(json.dumps({"own": dict(os.environ), "processes": list(others.values())}))
