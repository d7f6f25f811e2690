# A grandchild, in a session of its own, keeps swapping a file and a link while the program ends.
import os

os.chdir("/work/output")
with open("kept", "w") as file:
    file.write("right")
os.symlink("/etc/passwd", "link")
os.symlink("kept", "raced")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            os.rename("link", "raced")
            os.symlink("/etc/passwd", "link")
            with open("other", "w") as file:
                file.write("right")
            os.rename("other", "raced")
    os._exit(0)
os.wait()
