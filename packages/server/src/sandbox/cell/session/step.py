# Carries the state of a session from one program to the next. The state is loaded before the program. It is stored at
# the end of the interpreter, after all exit handlers of the program. Only cells read a state.
import atexit
import io
import marshal
import os
import pickle
import stat
import sys
import types
from urllib.parse import quote_from_bytes, unquote_to_bytes

MAGIC = b"session state 1 python\n"
BYTES_MAX = 64 * 1024 * 1024
TOLD_MAX = 256
CHARS_MAX = 200
PYTHON = sys.implementation.cache_tag
EARLIER = " of an earlier step"


class TooLarge(Exception):
    pass


class Bounded(io.BytesIO):
    """The bytes of a state, which never exceed the bound."""

    def write(self, data):
        if self.tell() + memoryview(data).nbytes > BYTES_MAX:
            raise TooLarge(f"the state has more than {BYTES_MAX} bytes")
        return super().write(data)


# Objects that pickle alone cannot make again. Each `make_` returns one that is empty, and each `set_` fills it, so that an
# object may hold itself.


def renamed(code):
    """The code under another file name, so that its tracebacks do not show lines of the next program."""
    name = code.co_filename if code.co_filename.endswith(EARLIER) else code.co_filename + EARLIER
    inner = (renamed(each) if isinstance(each, types.CodeType) else each for each in code.co_consts)
    return code.replace(co_filename=name, co_consts=tuple(inner))


def make_code(python, text):
    if python != PYTHON:
        raise ValueError(f"its functions were compiled by {python}, and this is {PYTHON}")
    return marshal.loads(text)


def make_cell():
    return types.CellType()


def set_cell(cell, content):
    cell.cell_contents = content[0]


def make_function(code, name, cells, names):
    return types.FunctionType(code, MAIN if names is None else names, name, None, cells)


def set_function(function, state):
    for name, value in state.items():
        setattr(function, name, value)


def make_class(metaclass, name, bases, names):
    return types.new_class(name, bases, {"metaclass": metaclass}, lambda made: made.update(names))


def make_enum(metaclass, name, bases, names, members):
    made = metaclass.__prepare__(name, bases)
    for key, value in [*names.items(), *members.items()]:
        made[key] = value
    return metaclass.__new__(metaclass, name, bases, made)


def set_class(made, attributes):
    for name, value in attributes.items():
        type.__setattr__(made, name, value)


def make_cache(function, size, typed):
    from functools import lru_cache

    return lru_cache(size, typed)(function)


def make_type_variable(name, constraints, kinds):
    from typing import TypeVar

    return TypeVar(name, *constraints, **kinds)


def make_mapping(names):
    return types.MappingProxyType(names)


def find_module(name):
    __import__(name)
    return sys.modules[name]


def is_found(value):
    """Whether another program would find this function or class by its name."""
    found = sys.modules.get(value.__module__)
    if found is None or found.__dict__ is MAIN:
        return False
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value


def names_in(code):
    inner = (names_in(each) for each in code.co_consts if isinstance(each, types.CodeType))
    return {*code.co_names}.union(*inner)


def reduced_function(value):
    code = renamed(value.__code__)
    # A function of the program gets the globals of the next program. Any other function keeps the globals that it uses.
    names = None
    if value.__globals__ is not MAIN:
        names = {name: value.__globals__[name] for name in names_in(code) if name in value.__globals__}
        names["__name__"] = value.__globals__.get("__name__")
    kept = ("__defaults__", "__kwdefaults__", "__annotations__", "__doc__", "__module__", "__qualname__")
    state = {name: getattr(value, name) for name in kept}
    state |= value.__dict__
    return make_function, (code, value.__name__, value.__closure__, names), state, None, None, set_function


# Attributes that a class or its metaclass creates by itself.
OF_A_CLASS = {"__dict__", "__weakref__", "_abc_impl", "__slots__", "__module__", "__qualname__"}
OF_AN_ENUM = {
    "_generate_next_value_", "_member_names_", "_member_map_", "_member_type_", "_value2member_map_", "_new_member_",
    "_use_args_", "_unhashable_values_", "_unhashable_values_map_", "_hashable_values_", "_value_repr_", "__new__",
}  # fmt: skip


def reduced_class(value):
    names = {"__module__": value.__module__, "__qualname__": value.__qualname__}
    slots = (types.MemberDescriptorType, types.GetSetDescriptorType)
    attributes = {
        name: each for name, each in value.__dict__.items() if name not in OF_A_CLASS and not isinstance(each, slots)
    }
    enum = sys.modules.get("enum")
    if enum is not None and isinstance(value, enum.EnumMeta):
        members = {name: member.value for name, member in value.__members__.items()}
        attributes = {
            name: each for name, each in attributes.items() if name not in OF_AN_ENUM and name not in members
        }
        made = (type(value), value.__name__, value.__bases__, names, members)
        return make_enum, made, attributes, None, None, set_class
    if "__slots__" in value.__dict__:
        names["__slots__"] = value.__dict__["__slots__"]
    # Without this, a generic class cannot be made.
    if "__orig_bases__" in value.__dict__:
        names["__orig_bases__"] = value.__dict__["__orig_bases__"]
    return make_class, (type(value), value.__name__, value.__bases__, names), attributes, None, None, set_class


def reduced_cell(value):
    try:
        content = (value.cell_contents,)
    except ValueError:
        return make_cell, ()
    return make_cell, (), content, None, None, set_cell


REDUCED = {
    types.CodeType: lambda value: (make_code, (PYTHON, marshal.dumps(value))),
    types.CellType: reduced_cell,
    types.ModuleType: lambda value: (find_module, (value.__name__,)),
    types.MappingProxyType: lambda value: (make_mapping, (dict(value),)),
    property: lambda value: (property, (value.fget, value.fset, value.fdel, value.__doc__)),
    staticmethod: lambda value: (staticmethod, (value.__func__,)),
    classmethod: lambda value: (classmethod, (value.__func__,)),
}


class Keeper(pickle.Pickler):
    def reducer_override(self, value):
        kind = type(value)
        if kind is types.FunctionType:
            return NotImplemented if is_found(value) else reduced_function(value)
        if issubclass(kind, type):
            if is_found(value) or value is type(None):
                return NotImplemented
            # Some of Python's own types are found only in its module `types`.
            for name, each in vars(types).items():
                if each is value:
                    return getattr, (types, name)
            return reduced_class(value)
        if kind in REDUCED:
            return REDUCED[kind](value)
        module = kind.__module__
        if module == "functools" and kind.__name__ == "_lru_cache_wrapper" and not is_found(value):
            parameters = value.cache_parameters()
            return make_cache, (value.__wrapped__, parameters["maxsize"], parameters["typed"])
        if module == "typing" and kind.__name__ == "TypeVar":
            kinds = {"covariant": value.__covariant__, "contravariant": value.__contravariant__}
            if value.__bound__ is not None:
                kinds["bound"] = value.__bound__
            return make_type_variable, (value.__name__, value.__constraints__, kinds)
        # Marker objects that are compared by identity.
        if module == "dataclasses":
            for name, each in vars(sys.modules[module]).items():
                if each is value:
                    return name
        return NotImplemented


def told(error):
    return f"{type(error).__name__}: {error}"[:CHARS_MAX]


def named_globals(main):
    """The globals that may be kept."""
    tools = sys.modules.get("tools")
    return {
        name: value
        for name, value in main.items()
        if isinstance(name, str) and not (name.startswith("__") and name.endswith("__"))
        if value is not tools
    }


def pickled(values):
    """Pickles all values together. If a value fails, returns its name and its error instead."""
    made = Bounded()
    keeper = Keeper(made, protocol=4)
    for name, value in values.items():
        try:
            keeper.dump(name)
            keeper.dump(value)
        except (TooLarge, MemoryError):
            raise
        except Exception as error:
            return None, (name, error)
    return made.getbuffer(), None


def kept_globals(values):
    """The globals that pickle accepts, their pickle, and the errors of the other globals."""
    left_out = {}
    while True:
        whole, failed = pickled(values)
        if failed is None:
            return values, whole, left_out
        # If one name fails, each name is tried alone, so that few passes find all names that fail.
        for name, value in list(values.items()):
            error = failed[1] if name == failed[0] else (pickled({name: value})[1] or (None, None))[1]
            if error is not None:
                left_out[name] = told(error)
                del values[name]


def files_below(work, program):
    """The entries of `/work` that are kept, parents first."""
    own = {os.path.join(work, b"input"), os.path.join(work, b"output", b".session"), os.fsencode(program)}
    left = [work]
    while left:
        with os.scandir(left.pop()) as found:
            entries = sorted((each for each in found if each.path not in own), key=lambda each: each.name)
        yield from entries
        left += [each.path for each in entries if each.is_dir(follow_symlinks=False)]


def write_files(out, work, program):
    """Writes the files of `/work`. Returns how many were kept, and why others were not."""
    count, left_out = 0, {}
    for entry in files_below(work, program):
        path = os.path.relpath(entry.path, work)
        name = quote_from_bytes(path, safe="/").encode()
        try:
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                out.write(b"link %s %s\n" % (quote_from_bytes(os.readlink(entry.path), safe="/").encode(), name))
            elif stat.S_ISDIR(mode):
                out.write(b"directory %o %s\n" % (stat.S_IMODE(mode), name))
            elif stat.S_ISREG(mode):
                with open(entry.path, "rb") as file:
                    content = file.read(BYTES_MAX + 1)
                out.write(b"file %o %d %s\n" % (stat.S_IMODE(mode), len(content), name))
                out.write(content)
            else:
                raise ValueError("it is no file, directory or link")
            count += 1
        except (OSError, ValueError) as error:
            left_out[os.fsdecode(path)] = told(error)
    return count, left_out


def read_state(main, work, path):
    with open(path, "rb") as state:
        if state.readline() != MAGIC:
            raise ValueError("it is no state of a Python session")
        modes = []
        for line in iter(state.readline, b""):
            kind, *words = line[:-1].split(b" ")
            if kind == b"values":
                end = state.tell() + int(words[0])
                loader = pickle.Unpickler(state)
                while state.tell() < end:
                    name = loader.load()
                    main[name] = loader.load()
                continue
            place = os.path.join(work, unquote_to_bytes(words[-1]))
            if kind == b"link":
                os.symlink(unquote_to_bytes(words[0]), place)
                continue
            if kind == b"directory":
                os.makedirs(place, exist_ok=True)
            else:
                with open(place, "xb") as file:
                    file.write(state.read(int(words[1])))
            modes.append((place, int(words[0], 8)))
        for place, mode in reversed(modes):
            os.chmod(place, mode)


def whole_state(main, work, program):
    out = Bounded()
    out.write(MAGIC)
    files, files_left_out = write_files(out, work, program)
    values, pickle_of_values, left_out = kept_globals(named_globals(main))
    out.write(b"values %d\n" % len(pickle_of_values))
    out.write(pickle_of_values)
    kinds = [("global", left_out), ("file", files_left_out)]
    not_kept = [
        {"kind": kind, "name": name[:CHARS_MAX], "reason": reason}
        for kind, names in kinds
        for name, reason in names.items()
    ]
    report = {"globals": len(values), "files": files, "not_kept": not_kept[:TOLD_MAX]}
    return out.getbuffer(), {**report, "more_not_kept": max(0, len(not_kept) - TOLD_MAX)}


class Session:
    """One step: loads the state before the program, and stores it after the program unless the program fails."""

    def __init__(self, main, program):
        self.main, self.program = main, program
        self.work = os.fsencode(os.path.dirname(program))
        self.has_failed = False
        self.process = os.getpid()
        # Exit handlers that the program registers later run before this one.
        atexit.register(self.keep)

    def load(self):
        path = os.path.join(self.work, b"input", b".session", b"state")
        if not os.path.exists(path):
            return
        try:
            read_state(self.main, self.work, path)
        except BaseException as error:
            self.has_failed = True
            print(f"The state of the session cannot be loaded: {told(error)}", file=sys.stderr)
            sys.exit(1)

    def keep(self):
        # A process that the program forked also calls this at its end.
        if self.has_failed or os.getpid() != self.process:
            return
        import json

        own = os.path.join(self.work, b"output", b".session")
        os.makedirs(own, exist_ok=True)
        sys.modules["_session"] = THIS
        state = None
        try:
            state, report = whole_state(self.main, self.work, self.program)
            with open(os.path.join(own, b"state"), "wb") as file:
                file.write(state)
        except BaseException as error:
            if state is not None:
                os.unlink(os.path.join(own, b"state"))
            report = {"problem": told(error)}
            print(f"The state of the session cannot be kept: {told(error)}", file=sys.stderr)
        with open(os.path.join(own, b"kept.json"), "w") as file:
            json.dump(report, file)


THIS = types.ModuleType("_session")
MAIN = {}


def begin(main, program, names):
    """Loads the state of the session, if there is one, and registers the exit handler that stores the new state."""
    global MAIN
    MAIN = main
    THIS.__dict__.update(names)
    sys.modules["_session"] = THIS
    session = Session(main, program)
    session.load()
    del sys.modules["_session"]
    return session
