import sys

sys.stdout.write(sys.stdin.read())
open("/dev/stderr", "w").write("canary stderr\n")
open("output/copy", "w").write(open("input/original").read())
sys.exit(7)
