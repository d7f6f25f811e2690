# Writes far more at once than a pipe holds: the interpreter itself, and a child of it that knows nothing of the service. The
# first line says how much the kernel took at once of 2 MB.
import os
import subprocess
import sys

print(os.write(2, b"e" * 2_000_000))
print("o" * 599_999)
subprocess.run([sys.executable, "-c", "print('c' * 399_999)"], check=True)
print("e" * 7_999_999, file=sys.stderr)
