# Writes a hundred thousand lines of one byte to each stream.
import os

for _ in range(100):
    os.write(1, b"a\n" * 1000)
    os.write(2, b"b\n" * 1000)
