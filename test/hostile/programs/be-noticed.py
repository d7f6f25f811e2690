# Uses files, modules and programs that every cell has, as an ordinary program may.
import subprocess
import sndhdr, sqlite3, xdrlib  # noqa: modules that hardly anybody imports

for path in ("/etc/passwd", "/svc/guest/launch.py", "/dev/urandom", "/dev/zero", "/dev/null"):
    with open(path, "rb") as file:
        file.read(16)
with open("/dev/null", "w") as file:
    file.write("noticed")
print(subprocess.run(["/usr/bin/perl", "-e", "print 7"], capture_output=True).stdout.decode())
