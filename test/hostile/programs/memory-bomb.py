# Takes memory, a MiB at a time, and touches it.
taken = []
while True:
    taken.append(b"x" * (1 << 20))
