# The interpreter, and a child of it that knows nothing about the service, each write far more at once than a pipe holds.
import subprocess
import sys

print("o" * 599_999)
subprocess.run([sys.executable, "-c", "print('c' * 399_999)"], check=True)
print("e" * 9_999_999, file=sys.stderr)
