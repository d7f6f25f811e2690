# Writes 60 KiB to each stream and ends at once.
import os

os.write(1, b"o" * 61439 + b"\n")
os.write(2, b"e" * 61439 + b"\n")
os._exit(0)
