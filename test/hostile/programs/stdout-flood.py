# Writes bytes `A` as fast as it can, and then prints on standard error how many bytes it wrote.
import os
import time

block = b"A" * (1 << 16)
written = 0
end = time.monotonic() + @SECONDS@
while time.monotonic() < end:
    written += os.write(1, block)
os.write(2, str(written).encode())
