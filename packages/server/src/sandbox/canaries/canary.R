writeLines(readLines(file("stdin")))
cat("canary stderr\n", file = "/dev/stderr")
invisible(file.copy("input/original", "output/copy"))
quit(status = 7)
