writeLines(readLines(file("stdin")))
write("canary stderr", stderr())
invisible(file.copy("input/original", "output/copy"))
quit(status = 7)
