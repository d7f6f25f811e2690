# Leaves in output/ every kind of entry that is not a plain file, and some plain files. Prints whether it could link to
# files that belong to others.
import errno
import json
import os
import socket


os.chdir("/work/output")
with open("plain", "w") as file:
    file.write("plain")
os.symlink("/etc/passwd", "absolute")
os.symlink("../../../../../../etc/passwd", "relative")
os.symlink("/proc/self/environ", "process")
os.symlink("loop", "loop")
os.symlink("nowhere", "dangling")
os.symlink("plain", "beside")
os.mkdir("directory")
os.mkdir("real")
with open("real/inside", "w") as file:
    file.write("inside")
os.symlink("real", "linked")
os.symlink("/etc", "outside")
for number in range(8):
    os.mkfifo(f"fifo{number}")
bound = socket.socket(socket.AF_UNIX)
bound.bind("socket")
with open("first", "w") as file:
    file.write("twice")
os.link("first", "second")
with open("unreadable", "w") as file:
    file.write("unreadable")
os.chmod("unreadable", 0)
os.mkdir("closed")
with open("closed/inside", "w") as file:
    file.write("inside")
os.chmod("closed", 0)
with open("setuid", "w") as file:
    file.write("setuid")
os.chmod("setuid", 0o6777)
with open("hole", "wb") as file:
    file.truncate(1 << 20)
with open("\\back", "w") as file:
    file.write("back")
with open("/tmp/own", "w") as file:
    file.write("own")
answers = {}
for path in ("/usr/bin/perl", "/etc/passwd", "/svc/init", "/work/input/given", "/proc/self/status", "/tmp/own"):
    try:
        os.link(path, "foreign")
        answers[path] = "linked"
    except OSError as error:
        answers[path] = errno.errorcode[error.errno]
print(json.dumps(answers))
