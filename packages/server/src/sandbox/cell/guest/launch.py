# Waits with the interpreter loaded, then runs the one program of this cell as `__main__`, as `python3 /work/main.py` would. A
# template loads this file before it forks.
import io
import os
import sys
import time


class WholeWrites(io.FileIO):
    """Continues a write after the kernel took only a part of it, as gVisor does with long writes. An unbuffered stream of Python
    would drop the rest.
    """

    def write(self, data):
        left = memoryview(data).cast("B")
        written = 0
        while written < len(left):
            count = super().write(left[written:])
            if count is None:  # The program made the pipe non-blocking, and it is full.
                return written or None
            written += count
        return written


def with_whole_writes(stream):
    raw = WholeWrites(stream.fileno(), "w", closefd=False)
    raw.name = stream.name
    text = io.TextIOWrapper(raw, stream.encoding, stream.errors, newline="\n", write_through=True)
    text.mode = stream.mode
    return text


def keep_output():
    """Gives standard output the buffer that it has without `-u`. Otherwise each print is two system calls, which are slow in
    gVisor. Python flushes the buffer at its end.
    """
    old = sys.stdout
    stream = open(1, "w", encoding=old.encoding, errors=old.errors, newline="\n", closefd=False)
    stream.buffer.raw.name = old.name
    sys.stdout = sys.__stdout__ = stream


def read_whole(descriptor):
    """Reads a descriptor to its end and closes it. A file object would cost more than everything else that is done here.
    """
    whole = b""
    while part := os.read(descriptor, 8192 + len(whole)):
        whole += part
    os.close(descriptor)
    return whole


def take_words(told):
    """Sets the program's variables and returns its arguments."""
    line, _, words = told.partition(b"\n")
    if not words:
        return []
    words = words.split(b"\0")[:-1]
    count = int(line.split()[1])
    for variable in words[count:]:
        name, _, value = variable.partition(b"=")
        os.environb[name] = value
        if name == b"TZ":
            time.tzset()
        elif name == b"PYTHONUNBUFFERED" and not value:
            keep_output()
    return [os.fsdecode(word) for word in words[:count]]


def word_of(name):
    """The value of a word NAME=VALUE that the cell gave its interpreter at the start; None if it gave no such word."""
    return next((word.partition("=")[2] for word in sys.argv if word.startswith(name + "=")), None)


def names_at(path, name):
    """The names that one of the service's own modules defines."""
    names = {"__name__": name, "__file__": path, "__builtins__": __builtins__}
    exec(compile(read_whole(os.open(path, os.O_RDONLY | os.O_CLOEXEC)), path, "exec"), names)
    return names


def session_names_at(path):
    """The module that begins a step of a session, with its own imports; None if the program is no step."""
    try:
        return names_at(path, "_session")
    except FileNotFoundError:
        return None


def report(error):
    """Prints an uncaught exception through the program's hook, which may itself fail."""
    # This file's frame is left out, so that a traceback starts with the program's own code.
    trace = error.__traceback__
    error.__traceback__ = trace.tb_next if trace is not None else None
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    try:
        return sys.excepthook(type(error), error, error.__traceback__)
    except SystemExit:
        raise
    except BaseException as raised:
        failure = raised
    failure.__traceback__ = failure.__traceback__.tb_next
    print("Error in sys.excepthook:", file=sys.stderr)
    sys.__excepthook__(type(failure), failure, failure.__traceback__)
    print("\nOriginal exception was:", file=sys.stderr)
    sys.__excepthook__(type(error), error, error.__traceback__)


def keep_what_is_here():
    """Keeps the ending interpreter from freeing the objects that existed before the program, except open files. Freeing them is
    most of the cost of an end. They become items of a frozen list that is also its own item. Python never frees such a list or
    its items. A template does more (native/launcher/python.c).
    """
    import gc

    sys.modules.pop("gc")
    here = [each for each in gc.get_objects() if not isinstance(each, io._io._IOBase)]
    here.append(here)
    gc.freeze()


def await_program(go=3, ready=4):
    """Waits with the interpreter loaded. Returns the path of the program and its arguments."""
    # The host's kernel takes a blocking write whole, or reports a signal.
    if "whole-writes" in sys.argv:
        sys.stdout = sys.__stdout__ = with_whole_writes(sys.stdout)
        sys.stderr = sys.__stderr__ = with_whole_writes(sys.stderr)
    os.write(ready, b"r")
    os.close(ready)
    told = read_whole(go)
    if not told:  # The input ended without a release: the process that held the program is gone.
        os._exit(125)
    return os.getcwd() + "/main.py", take_words(told)


def execute(program, arguments):
    """Runs the file as the main module."""
    tools, libraries = word_of("tools"), word_of("libraries")
    unpacker = os.path.dirname(sys.argv[0]) + "/unpack.py"
    inputs = os.path.dirname(program) + "/input"
    source = read_whole(os.open(program, os.O_RDONLY | os.O_CLOEXEC))
    sys.argv[:] = [program, *arguments]
    main = type(sys)("__main__")
    main.__dict__.update(__file__=program, __builtins__=__builtins__, __cached__=None)
    sys.modules["__main__"] = main
    if tools is not None:
        main.tools = sys.modules["tools"] = names_at(tools, "tools")["offered"]
    step = session_names_at(inputs + "/.session/step.py")
    if libraries is not None:
        names_at(unpacker, "_unpack")["offer"](inputs + "/.libraries.tar.gz", libraries)
    session = None if step is None else step["begin"](main.__dict__, program, step)
    error = None
    try:
        exec(compile(source, program, "exec"), main.__dict__)
    except SystemExit as raised:
        if session is not None:
            session.has_failed = raised.code not in (None, 0)
        raise
    except BaseException as raised:
        error = raised
    if error is None:
        return
    if session is not None:
        session.has_failed = True
    # This is outside of the handler, so that the error of a failing hook is not chained to the program's error.
    report(error)
    if not isinstance(error, KeyboardInterrupt):
        sys.exit(1)
    # Python itself ends an interrupted program with the same signal. Its message was already printed.
    sys.excepthook = lambda *_: None
    raise error


if __name__ == "__main__":
    # An interpreter with a fixed hash seed is not isolated, and would look for modules beside this file.
    if not sys.flags.isolated:
        del sys.path[0]
    keep_what_is_here()
    execute(*await_program())
