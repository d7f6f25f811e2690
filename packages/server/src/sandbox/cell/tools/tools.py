# The module `tools` of a program that may call tools: `tools.search(query="…")`, and `await tools.search(query="…")` in a
# coroutine. Anything that writes and reads the same lines can do the same. A program's module has no other names than
# `ToolError`, so that every tool has its own.
import _signal
import _thread
import json  # Before the program runs: a signal handler that calls a tool during this import would find only a part.
import os
import sys

ANSWERS, CALLS = 30, 31
# The service's bounds on one line, less what the line's own object and members take.
LEVELS_MAX, TOKENS_MAX = 31, 20_000 - 6


class ToolError(Exception):
    """A tool failed, or may not be called in this way. `tool` is the tool's name."""

    def __init__(self, message, tool=None):
        super().__init__(message)
        self.tool = tool


class Channel:
    """The open calls, by number. One thread at a time reads all answers: a caller that waits, or a thread of its own."""

    def __init__(self):
        self.process = os.getpid()
        self.main = _thread.get_ident()
        self.changing = _thread.allocate_lock()
        self.open = {}
        self.number = 0
        self.reader = None
        self.parts = []

    def send(self, tool, arguments, settle, reader=None):
        """Writes a call. Whoever reads its answer calls `settle`. If nobody reads yet, `reader` begins, or a new thread."""
        if os.getpid() != self.process:
            raise RuntimeError("tools are called from the process in which the program began")
        told = f'"tool": {text_of(tool)}, "arguments": {checked_text_of(arguments)}}}\n'.encode()
        # A handler runs in the main thread alone. If it calls a tool while a call is written there, it would wait for itself.
        if _thread.get_ident() == self.main and has_handlers():
            in_a_thread(self.write, told, settle, None)
        else:
            self.write(told, settle, reader)

    def write(self, told, settle, reader):
        with self.changing:
            self.number += 1
            self.open[self.number] = settle
            left = memoryview(b'{"call": %d, %b' % (self.number, told))
            while left:
                left = left[os.write(CALLS, left) :]
            if self.reader is None:
                self.begin_reading(reader)

    def begin_reading(self, reader):
        if reader is None:
            _thread.start_new_thread(self.read_on, ())
        self.reader = reader or self

    def read_on(self):
        while self.read():
            pass

    def stop_reading(self):
        """Others may wait for answers, too."""
        with self.changing:
            self.reader = None
            if self.open:
                self.begin_reading(None)

    def read(self):
        """Reads some answers. An exception here loses none: answers are kept in one step, whoever reads next begins with the kept
        ones, and an answer that is told twice changes nothing. Returns whether more may come."""
        if not any(b"\n" in part for part in self.parts):
            self.parts.extend(map(os.read, (ANSWERS,), (65536,)))
        more = self.parts[-1] != b""
        *lines, rest = b"".join(self.parts).split(b"\n")
        for line in lines:
            answer = json.loads(line, parse_int=integer_of)
            self.settle(answer["call"], answer)
        self.parts = [rest]
        if not more:
            for number in list(self.open):
                self.settle(number, {"error": "no more answers come"})
        return more

    def settle(self, number, answer):
        settle = self.open.get(number)
        if settle is not None:
            settle(answer)
            self.open.pop(number, None)


def integer_of(text):
    """The service writes a number as its double's shortest text, in which an int above 2**53 has zeros at its end."""
    number = int(text)
    return number if abs(number) <= 2**53 else int(float(text))


def text_of(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def checked_text_of(arguments):
    """The value as JSON. Raises if the service would end the program for it."""
    tokens = 0

    def check(value, level):
        nonlocal tokens
        tokens += 1
        if isinstance(value, (dict, list, tuple)) and level == LEVELS_MAX:
            raise ValueError(f"the arguments of a tool nest deeper than {LEVELS_MAX} levels")
        if isinstance(value, dict):
            tokens += len(value)
            for name, member in value.items():
                if not isinstance(name, str):
                    raise TypeError(f"a name in the arguments of a tool is a str, and not {type(name).__name__}")
                check(member, level + 1)
        elif isinstance(value, (list, tuple)):
            for element in value:
                check(element, level + 1)
        elif isinstance(value, int) and not is_double(value):
            raise ValueError(f"a double cannot hold {value}: give a tool such a number as a str")

    check(arguments, 0)
    if tokens > TOKENS_MAX:
        raise ValueError(f"the arguments of a tool have more than {TOKENS_MAX} names and values")
    text = text_of(arguments)
    text.encode()  # Refuses lone surrogates.
    return text


def is_double(number):
    try:
        return int(float(number)) == number
    except OverflowError:
        return False


def value_of(tool, answer):
    if "error" in answer:
        raise ToolError(answer["error"], tool)
    return answer["result"]


channel = Channel()


class Waiting:
    """A thread that waits for one answer. If nobody reads, it reads itself: being woken by another thread takes longer."""

    def __init__(self):
        self.lock = _thread.allocate_lock()
        self.lock.acquire()
        self.answer = None

    def settle(self, answer):
        self.answer = answer
        if self.lock.locked():
            self.lock.release()

    def wait(self):
        while channel.reader is self and self.answer is None:
            channel.read()
        self.lock.acquire()


def has_handlers():
    """Whether the program's code may run between any two steps of a call. It could then call a tool itself, or raise."""
    return any(is_of_program(_signal.getsignal(number)) for number in range(1, _signal.NSIG))


def is_of_program(handler):
    if not callable(handler) or handler is _signal.default_int_handler:
        return False
    # asyncio.run sets a handler of its own, which calls no tool.
    module = getattr(getattr(handler, "func", handler), "__module__", None)
    return not str(module).startswith("asyncio.")


def in_a_thread(work, *given):
    """Waits until a new thread has done the work, and raises what the work raised."""
    done = _thread.allocate_lock()
    done.acquire()
    problems = []

    def run():
        try:
            work(*given)
        except BaseException as problem:
            problems.append(problem)
        finally:
            done.release()

    _thread.start_new_thread(run, ())
    done.acquire()
    if problems:
        raise problems[0]


def call_and_wait(tool, arguments):
    waiting = Waiting()
    try:
        channel.send(tool, arguments, waiting.settle, waiting)
        waiting.wait()
    finally:
        if channel.reader is waiting:
            channel.stop_reading()
    return value_of(tool, waiting.answer)


def call_in(loop, tool, arguments):
    """The call is made at once. Returns a coroutine, which waits for the answer."""
    future = loop.create_future()

    def take(answer):
        if not future.done():
            future.set_result(answer)

    def settle(answer):
        try:
            loop.call_soon_threadsafe(take, answer)
        except RuntimeError:  # The loop was closed.
            pass

    async def wait():
        return value_of(tool, await future)

    channel.send(tool, arguments, settle)
    coroutine = wait()
    coroutine.__name__ = coroutine.__qualname__ = f"tools.{tool}"
    return coroutine


def running_loop():
    """The event loop that runs in this thread, if the program has loaded asyncio at all."""
    asyncio = sys.modules.get("asyncio")
    return asyncio and asyncio._get_running_loop()


def tool_named(name):
    # A module has names of its own that Python and debuggers ask for.
    if name.startswith("__"):
        raise AttributeError(name)

    def call(*values, **arguments):
        if len(values) + bool(arguments) > 1:
            raise TypeError("a tool takes its arguments by name, or one value")
        given = values[0] if values else arguments
        loop = running_loop()
        return call_and_wait(name, given) if loop is None else call_in(loop, name, given)

    call.__name__ = call.__qualname__ = name
    return call


ToolError.__module__ = "tools"
offered = type(sys)("tools", "The tools of this job: `tools.search(query=\"…\")`, awaited in a coroutine.")
offered.__file__ = __file__
offered.__getattr__ = tool_named
offered.ToolError = ToolError
