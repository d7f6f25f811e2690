# Prints each mount with its place, type and options. For each writable place, prints whether a program can be executed there.
import errno
import json
import os
import shutil
import subprocess

mounts = {}
with open("/proc/self/mountinfo") as file:
    for line in file:
        fields, rest = line.split(" - ")
        place, options = fields.split()[4:6]
        mounts[place] = {"type": rest.split()[0], "options": sorted({*options.split(","), *rest.split()[2].split(",")})}
executed = {}
for place in ("/work", "/work/output", "/tmp", "/dev/shm"):
    copy = os.path.join(place, "true")
    shutil.copy("/usr/bin/true", copy)
    os.chmod(copy, 0o755)
    try:
        executed[place] = "exit %d" % subprocess.run([copy]).returncode
    except OSError as error:
        executed[place] = errno.errorcode[error.errno]
print(json.dumps({"mounts": mounts, "executed": executed}))
