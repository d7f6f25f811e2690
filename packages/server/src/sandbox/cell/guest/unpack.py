# Unpacks a job's libraries in its cell, before the program, as the program's user and within the limits of the job. Nobody else
# ever reads the archive, and nothing in it is trusted. `unpack.cjs` does the same for Node.
import gzip
import os
import sys

BYTES_MAX = 512 * 1024 * 1024
ENTRIES_MAX = 50_000
NAME_BYTES_MAX = 64 * 1024
PIECE = 256 * 1024
BLOCK = 512
PAGE = 4096


class Unfit(Exception):
    """The archive cannot be unpacked."""


def number(field):
    digits = field.strip(b" \0")
    # `int` would take signs and underscores.
    if digits.strip(b"01234567"):
        raise Unfit("it is no tar archive")
    return int(digits or b"0", 8)


def whole(packed, size):
    """Reads exactly `size` bytes, and skips the rest of their last block."""
    content = packed.read(size)
    rest = -size % BLOCK
    if len(content) < size or len(packed.read(rest)) < rest:
        raise Unfit("it ends too early")
    return content


def expect_end(packed):
    """Two blocks of zeros end a tar archive; some packers write more. Reading on also checks gzip's checksum."""
    rest = whole(packed, BLOCK)
    while rest:
        if rest.strip(b"\0"):
            raise Unfit("it goes on after its end")
        rest = packed.read(PIECE)


def path_in(records):
    """The path that a header of pax(1) names, if it names one."""
    path = None
    while records:
        length = int(records[: records.index(b" ")])
        name, _, value = records[records.index(b" ") + 1 : length - 1].partition(b"=")
        if length < 5 or name == b"size":
            raise Unfit("it has a header that this service does not read")
        path = value if name == b"path" else path
        records = records[length:]
    return path


def entries(packed):
    """Yields each header as kind, name, mode and size. The caller reads an entry's content before it takes the next header."""
    named = None
    while (header := whole(packed, BLOCK)).strip(b"\0"):
        if sum(header) - sum(header[148:156]) + 8 * 32 != number(header[148:156]):
            raise Unfit("it is no tar archive")
        kind, size = header[156:157], number(header[124:136])
        if kind in b"xgL":
            if size > NAME_BYTES_MAX:
                raise Unfit("it has a name that is too long")
            text = whole(packed, size)
            if kind == b"L":
                named = text.rstrip(b"\0")
            elif kind == b"x":
                named = path_in(text) or named
            continue
        name = header[:100].rstrip(b"\0")
        if header[257:263] == b"ustar\0" and header[345] != 0:
            name = header[345:500].rstrip(b"\0") + b"/" + name
        yield kind, named or name, number(header[100:108]), size
        named = None
    expect_end(packed)


def parts_of(name):
    parts = [part for part in name.split(b"/") if part not in (b"", b".")]
    if name.startswith(b"/") or b".." in parts or b"\0" in name:
        raise Unfit(f"{os.fsdecode(name)!r} is not below the archive's root")
    return parts


def make_directories(place, parts, made):
    for part in parts:
        place += b"/" + part
        if place in made:
            continue
        try:
            os.mkdir(place, 0o755)
        except FileExistsError:
            if not os.path.isdir(place):
                raise
        made.add(place)
    return place


def write_file(path, mode, size, packed):
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o755 if mode & 0o111 else 0o644)
    try:
        left = size
        while left > 0:
            piece = memoryview(packed.read(min(left, PIECE)))
            if not piece:
                raise Unfit("it ends too early")
            left -= len(piece)
            while piece:
                piece = piece[os.write(file, piece) :]
    finally:
        os.close(file)
    packed.read(-size % BLOCK)


def unpack(archive, place):
    made, count, total = set(), 0, 0
    with gzip.open(archive) as packed:
        for kind, name, mode, size in entries(packed):
            count, total = count + 1, total + size + -size % PAGE
            parts = parts_of(name)
            if count > ENTRIES_MAX or total > BYTES_MAX:
                raise Unfit(f"it has more than {ENTRIES_MAX} entries or {BYTES_MAX} bytes in pages of {PAGE}")
            if kind == b"5":
                make_directories(place, parts, made)
            elif kind not in b"0\0" or not parts:
                raise Unfit(f"{os.fsdecode(name)!r} is neither a file nor a directory")
            else:
                parent = make_directories(place, parts[:-1], made)
                write_file(parent + b"/" + parts[-1], mode, size, packed)
    if count == 0:
        raise Unfit("it is empty")


def offer(archive, place):
    """Unpacks the libraries and puts them first on the path, for this interpreter and for those that the program starts."""
    try:
        unpack(archive, os.fsencode(place))
    except Exception as error:
        reason = str(error) if isinstance(error, Unfit) else f"{type(error).__name__}: {error}"
        print(f"The libraries cannot be unpacked: {reason[:500]}", file=sys.stderr)
        sys.exit(1)
    sys.path.insert(0, place)
    os.environ["PYTHONPATH"] = place
