# Writes modules with the names of standard ones beside itself, and starts a second interpreter like its own.
import os
import subprocess
import sys

for name in ("json", "types", "sitecustomize"):
    with open(f"/work/{name}.py", "w") as file:
        file.write("print('HIJACKED')\n")
again = [sys.executable, "-I", "-c", "import json, types; print('clean')"]
print(subprocess.run(again, capture_output=True, text=True).stdout, end="")
