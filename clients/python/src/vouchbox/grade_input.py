"""What a grading is made of, and what of it no job, no record or no judge can take.

All that can be known before is checked before the first job is sent, so that no grading ends half-way by what its caller
could have been told. Here is also how the end of a test is read where its program was compiled.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from .contract import FileContent, JobSubmission, Violation
from .submission import bytes_of

Comparison: TypeAlias = Literal["lines", "words", "exact"]

MIB: Final = 1024 * 1024
CODE_BYTES_MAX: Final = MIB
STDIN_BYTES_MAX: Final = MIB
FILES_MAX: Final = 32
FILE_BYTES_MAX: Final = 2 * MIB
"""The most bytes of an input file that is sent with a job."""
FILES_TOTAL_BYTES_MAX: Final = 4 * MIB
BLOB_BYTES_MAX: Final = 64 * MIB
"""The most bytes of an input file that is uploaded before."""
ARGS_MAX: Final = 64
WORD_BYTES_MAX: Final = 4096
WORDS_TOTAL_BYTES_MAX: Final = 32 * 1024
STREAM_BYTES_MAX: Final = MIB
"""The most bytes of an output that are recorded."""
STREAM_RECORDS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeTest:
    """One test: what the program is given, and how its output is judged."""

    name: str
    """A name that no other test of the grading has."""
    stdin: str | None = None
    args: Sequence[str] | None = None
    files: Mapping[str, FileContent] | None = None
    expected: str | None = None
    """What the program should print. Without it and without a checker, its end alone counts."""
    compare: Comparison = "lines"
    """`lines` ignores white space at the ends of lines and of the whole, `words` all but the words."""
    points: float = 1
    """What the test counts if it is accepted."""


@dataclass(frozen=True, slots=True)
class Checker:
    """A program that judges an output. It finds `input/stdin`, `input/expected` and `input/output`, accepts by ending with
    0 and refuses by ending with 1."""

    language: str
    code: str


def check_grading(program: str | JobSubmission, tests: Sequence[GradeTest], checker: Checker | None) -> None:
    """Raises ValueError for a grading that cannot be made. It names the test and the bound."""
    if not tests:
        raise ValueError("a grading needs at least one test")
    if not isinstance(program, str) and program.get("interactor") is not None:
        raise ValueError("the program has an interactor: a grading runs it alone")
    _check_text("the program", program if isinstance(program, str) else program["code"])
    if checker is not None:
        _check_text("the checker", checker.code)
    names: set[str] = set()
    for test in tests:
        if test.name in names:
            raise ValueError(f"two tests have the same name: {test.name}")
        names.add(test.name)
        problem = _test_problem(test) or (_output_problem(test) if checker is None else _checked_problem(test))
        if problem is not None:
            raise ValueError(f"test {test.name}: {problem}")
    needed = sum(_judged_bytes(test, checker is not None) for test in tests)
    if needed > BLOB_BYTES_MAX:
        what = "what is expected of all tests, and outputs that fit it,"
        raise ValueError(f"{what} {_too_many(needed, BLOB_BYTES_MAX, 'have')} can be judged together")


def _check_text(what: str, text: str) -> None:
    if not text:
        raise ValueError(f"{what} is empty")
    if len(text.encode()) > CODE_BYTES_MAX:
        raise ValueError(f"{what} {_too_many(len(text.encode()), CODE_BYTES_MAX)} are allowed")


def _test_problem(test: GradeTest) -> str | None:
    """What is wrong with what the program is given, or with how it is judged."""
    try:
        (test.name + (test.expected or "") + (test.stdin or "")).encode()
    except UnicodeEncodeError:
        return "its name, its input or what it expects has no UTF-8 form"
    size = len((test.stdin or "").encode())
    if size > STDIN_BYTES_MAX:
        return f"its input {_too_many(size, STDIN_BYTES_MAX)} are allowed"
    if not (math.isfinite(test.points) and test.points >= 0):
        return "its points must be a number, and not negative"
    if test.compare not in get_args(Comparison):
        return f"compare is one of {', '.join(get_args(Comparison))}"
    return _arguments_problem(test.args or ()) or _files_problem(test.files or {})


def _arguments_problem(words: Sequence[str]) -> str | None:
    sizes = [len(word.encode()) for word in words]
    if len(words) > ARGS_MAX:
        return f"it has {len(words)} arguments; at most {ARGS_MAX} are allowed"
    if max(sizes, default=0) > WORD_BYTES_MAX:
        return f"an argument {_too_many(max(sizes), WORD_BYTES_MAX)} are allowed"
    if sum(sizes) > WORDS_TOTAL_BYTES_MAX:
        return f"its arguments together {_too_many(sum(sizes), WORDS_TOTAL_BYTES_MAX, 'have')} are allowed"
    return "an argument contains a NUL, which would end it" if any("\0" in word for word in words) else None


def _files_problem(files: Mapping[str, FileContent]) -> str | None:
    """Files that were uploaded were measured then."""
    if len(files) > FILES_MAX:
        return f"it has {len(files)} files; at most {FILES_MAX} are allowed"
    sizes = {path: 0 if isinstance(content, Mapping) else len(bytes_of(content)) for path, content in files.items()}
    for path, size in sizes.items():
        if size > FILE_BYTES_MAX:
            return f"{path} {_too_many(size, FILE_BYTES_MAX)} are sent with a job; upload it before"
    total = sum(sizes.values())
    if total <= FILES_TOTAL_BYTES_MAX:
        return None
    return f"its files together {_too_many(total, FILES_TOTAL_BYTES_MAX, 'have')} are sent with a job; upload them before"


def _output_problem(test: GradeTest) -> str | None:
    """No program can pass a test whose output is more than is recorded."""
    least = _least_output(test)
    size = len(least.encode())
    if size > STREAM_BYTES_MAX:
        return f"what is expected {_too_many(size, STREAM_BYTES_MAX)} of an output are recorded"
    lines = least.count("\n") + (0 if least.endswith("\n") else 1)
    if lines <= STREAM_RECORDS_MAX:
        return None
    return f"what is expected has {lines} lines; at most {STREAM_RECORDS_MAX} of an output are recorded"


def _checked_problem(test: GradeTest) -> str | None:
    size = len((test.expected or "").encode())
    return f"what is expected {_too_many(size, FILE_BYTES_MAX)} can be given to a checker" if size > FILE_BYTES_MAX else None


def _least_output(test: GradeTest) -> str:
    """The shortest output that passes, or one that is shorter still."""
    expected = test.expected or ""
    if test.compare == "exact":
        return expected
    if test.compare == "words":
        return " ".join(expected.split())
    return "\n".join(line.rstrip() for line in expected.rstrip().split("\n"))


def _judged_bytes(test: GradeTest, is_checked: bool) -> int:
    """The least that a judge is given of a test, which is JSON."""
    texts = (test.expected or "", "" if is_checked else _least_output(test))
    return sum(len(json.dumps(text, ensure_ascii=False).encode()) for text in texts)


def _too_many(size: int, most: int, verb: str = "has") -> str:
    return f"{verb} {size} bytes; at most {most}"


_ABOUT_PROGRAM = re.compile(
    r"^[^\s:]+:\d+(:\d+)?: (fatal )?error: |undefined reference to|multiple definition of|relocation truncated to fit",
    re.IGNORECASE | re.MULTILINE,
)
"""A compiler says so of the program: it names a line of it, or a symbol."""

_ABOUT_LIMIT = re.compile(
    r"no space left on device|cannot allocate memory|file too large|resource temporarily unavailable|out of memory"
    r"|out of resources|signal terminated program|terminated with signal",
    re.IGNORECASE,
)
"""It says so where a limit stopped it or a part of it, even if it also names a line."""


def compiler_problem(terminal_reason: str | None, violations: Sequence[Violation], stderr: str) -> str | None:
    """Why the end of a test says nothing of the program: its compiler met a limit.

    None if the program ran, and if the compiler found an error in it. The service says in a violation which limit a
    compiler met, where its kernel counts it; of the others only the compiler knows.
    """
    met = [v["message"] for v in violations if v.get("phase") == "compile" and v["type"] != "compile"]
    if met:
        return f"the compiler met a limit: {'; '.join(met)}"
    if terminal_reason != "compile_failed":
        return None
    for line in stderr.split("\n"):
        if _ABOUT_LIMIT.search(line):
            return f"the compiler met a limit: {line[:300]}"
    if _ABOUT_PROGRAM.search(stderr):
        return None
    return "the compiler failed, and what is recorded of it names no error in the program"
