# Leaves one plain file and several entries that are not plain files in output/ below its working directory.
import os
import socket

os.chdir("output")
os.symlink("/etc/passwd", "absolute")
os.symlink("/proc/self/environ", "process")
os.symlink("loop", "loop")
os.symlink("/etc", "outside")
os.mkfifo("fifo0")
socket.socket(socket.AF_UNIX).bind("socket")
os.mkdir("directory")
with open("first", "w") as file:
    file.write("twice")
os.link("first", "second")
with open("real", "w") as file:
    file.write("real")
