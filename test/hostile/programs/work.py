# An ordinary program: computes, writes an output, and prints a digest that only it can print.
import hashlib
import sys

digest = hashlib.sha256(b"@TOKEN@").hexdigest()
for _ in range(20_000):
    digest = hashlib.sha256(digest.encode()).hexdigest()
with open("output/digest", "w") as file:
    file.write(digest)
print(digest)
print("done", file=sys.stderr)
