# Lists what it finds in every place it may write to, then leaves a file, a directory and shared memory in each.
import ctypes
import json
import os

places = []
for directory, names, _ in os.walk("/"):
    if directory in ("/proc", "/sys", "/usr"):
        names.clear()
    elif os.access(directory, os.W_OK):
        places.append(directory)
found = {place: sorted(os.listdir(place)) for place in places}
for place in places:
    try:
        os.mkdir(os.path.join(place, "left"))
        with open(os.path.join(place, "left", "behind"), "w") as file:
            file.write("behind")
    except OSError:
        pass
libc = ctypes.CDLL(None)
existed = libc.shmget(0x5EC, 4096, 0o600) >= 0
libc.shmget(0x5EC, 4096, 0o1600)
print(json.dumps({"places": sorted(places), "found": found, "shared memory": existed}))
