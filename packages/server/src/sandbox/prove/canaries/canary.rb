$stdout.write($stdin.read)
File.write("/dev/stderr", "canary stderr\n")
File.write("output/copy", File.read("input/original"))
exit 7
