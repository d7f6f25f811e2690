# An interpreter that runs before any job exists. The interpreter of each cell is a fork of this one. `launcher.serve`
# (template.c) returns only in such a fork, which then continues as if it had been started. Most of the code is in other files:
# when Python ends, it frees the code of its first file, and a fork must copy each page that this changes.
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
