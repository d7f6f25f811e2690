# Digs 60 nested directories with names of 200 bytes, deeper than a path can name, and leaves files at the bottom.
import os

for _ in range(60):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
for number in range(8):
    open(f"bottom{number}", "w").close()
os.chmod(".", 0)
print("dug")
