# An interpreter that is up before any job exists. The interpreter of each cell is a fork of it: `launcher.serve` (zygote.c)
# returns in a cell only, and never in the zygote. Then it goes on as if it had been started. Most of the code is elsewhere:
# at its end Python frees all that it has read of its first file, and must first copy the pages that it is on.
with open("/svc/guest/warm.py", "rb") as file:
    exec(compile(file.read(), file.name, "exec"))
launcher.serve()
try:
    execute(*await_program())
    launcher.note_end(0)
except SystemExit as ended:
    launcher.note_end(exit_code(ended))
    raise
except KeyboardInterrupt:
    launcher.note_end(INTERRUPTED)
    raise
