# Prints everything below /dev with its kind, and tries to make a device wherever it may write.
import errno
import json
import os
import stat

found = {}
for directory, names, files in os.walk("/dev"):
    for name in names + files:
        path = os.path.join(directory, name)
        status = os.lstat(path)
        if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
            found[path] = f"{'c' if stat.S_ISCHR(status.st_mode) else 'b'} {os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
        elif stat.S_ISLNK(status.st_mode):
            found[path] = f"-> {os.readlink(path)}"
        else:
            found[path] = "directory" if stat.S_ISDIR(status.st_mode) else "other"
made = {}
for place in ("/work", "/tmp", "/dev", "/dev/shm"):
    try:
        os.mknod(os.path.join(place, "mem"), 0o20666, os.makedev(1, 1))
        made[place] = "made"
        os.close(os.open(os.path.join(place, "mem"), os.O_RDONLY))
        made[place] = "ok"
    except OSError as error:
        made[place] = errno.errorcode[error.errno]
print(json.dumps({"found": found, "made": made}))
