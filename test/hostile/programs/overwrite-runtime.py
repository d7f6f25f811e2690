# Tries to open the programs that run a cell for writing: through /proc, by name, and through a script that runs them.
import glob
import json
import os

paths = glob.glob("/proc/[0-9]*/exe") + ["/proc/self/exe", "/usr/bin/crun", "/usr/bin/runsc", "/usr/bin/perl", "/usr/bin/python3",
         "/bin/bash", "/opt/svc/bin/node", "/svc/init", "/svc/guest/launch.py", "/svc/guest/launch.sh",
         "/svc/guest/launch.cjs"]
opened = []
for path in paths:
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
        try:
            os.close(os.open(path, flags))
            opened.append(path)
        except OSError:
            continue
with open("/work/script", "w") as file:
    file.write("#!/proc/self/exe\n")
os.chmod("/work/script", 0o755)
try:
    os.close(os.open(f"/proc/{os.spawnv(os.P_NOWAIT, '/work/script', ['script'])}/exe", os.O_WRONLY))
    opened.append("/work/script")
except OSError:
    pass
print(json.dumps({"opened": opened, "tried": len(paths)}))
