# Prints the files in /proc that are readable and not empty (without processes' files), and the answers to usual queries.
import json
import multiprocessing
import os

readable = []
for top, directories, names in os.walk("/proc"):
    if top == "/proc":
        directories[:] = [name for name in directories if not name.isdigit()]
    for name in names:
        path = os.path.join(top, name)
        try:
            with open(path, "rb") as file:
                if file.read(64):
                    readable.append(path)
        except OSError:
            pass
works = {
    "processors": multiprocessing.cpu_count(),
    "load": len(os.getloadavg()),
    "memory": os.sysconf("SC_PHYS_PAGES"),
    "disk": os.statvfs("/usr").f_blocks * os.statvfs("/usr").f_frsize,
}
print(json.dumps({"readable": sorted(readable), "works": works}))
