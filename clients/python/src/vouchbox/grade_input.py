"""The parts of a grading, and how they become members of the body that the contract takes."""

from __future__ import annotations

import copy
import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from .contract import Comparing, FileContent, JobSubmission, LimitsInput
from .effects import Flow
from .jobs import upload
from .session import Session
from .submission import input_files, submission_of

MIB: Final = 1024 * 1024
TEXT_BYTES_MAX: Final = MIB
"""The most bytes that one text or file in the request may have."""
BLOB_BYTES_MAX: Final = 64 * MIB
SENT_BYTES_MAX: Final = 16 * MIB
"""The most bytes that all texts and files in the request may have together. A body may have 24 MiB, so the rest also fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeTest:
    """One test: what the program is given, and how its output is judged."""

    name: str
    """A name that no other test of the grading has."""
    stdin: str | None = None
    args: Sequence[str] | None = None
    files: Mapping[str, FileContent] | None = None
    env: Mapping[str, str] | None = None
    expected: str | None = None
    """What the program should print. If there is no `expected`, checker or interactor, only the program's end counts."""
    compare: Comparing = "lines"
    """`lines` ignores white space at the ends of lines and of the whole output. `words` compares only the words. `{"floats": …}`
    also compares words, but lets numbers differ within a tolerance, `absolute` or `relative`."""
    points: float = 1
    """The points of the test if it is accepted."""
    group: str | None = None
    """The name of the test's group, if there are groups."""
    checker_args: Sequence[str] | None = None
    """Arguments for the checker that only this test has. They follow the arguments for all tests."""


@dataclass(frozen=True, slots=True)
class Checker:
    """A program that judges: a checker, an interactor or a validator.

    A checker finds `input/stdin`, `input/expected` and `input/output`, and gets their paths as arguments. With the codes of
    testlib, the default, it exits with 0 to accept and with 1 to refuse. With the codes of Kattis, it reads the output from stdin
    and exits with 42 or 43.
    """

    language: str
    code: str
    codes: Literal["testlib", "kattis"] | None = None
    args: Sequence[str] | None = None
    files: Mapping[str, FileContent] | None = None
    env: Mapping[str, str] | None = None
    runtime: str | None = None
    limits: LimitsInput | None = None


def defined(members: Mapping[str, Any]) -> dict[str, Any]:
    """The members whose values are given."""
    return {name: value for name, value in members.items() if value is not None}


def test_of(test: GradeTest, given: JobSubmission) -> dict[str, Any]:
    """A test in the contract's form. A test without stdin or arguments gets those of the program's submission."""
    return defined(
        {
            "name": test.name,
            "stdin": given.get("stdin") if test.stdin is None else test.stdin,
            "args": given.get("args") if test.args is None else list(test.args),
            "files": None if test.files is None else input_files(test.files),
            "env": None if test.env is None else dict(test.env),
            "expected": test.expected,
            "compare": test.compare,
            "points": test.points,
            "group": test.group,
            "checker_args": None if test.checker_args is None else list(test.checker_args),
        }
    )


def grader_of(program: Checker) -> dict[str, Any]:
    """A grader's program in the contract's form."""
    given = submission_of(
        program.code,
        language=program.language,
        args=program.args,
        files=program.files,
        env=program.env,
        runtime=program.runtime,
        limits=program.limits,
    )
    return defined({**given, "codes": program.codes})


@dataclass(slots=True)
class _Place:
    """A text or a file in a body."""

    holder: dict[str, Any]
    name: str
    size: int

    def content(self) -> bytes:
        held = self.holder[self.name]
        return b64decode(held) if self.name == "content_base64" else held.encode()

    def put(self, blob: str) -> None:
        if self.name == "content_base64":
            del self.holder[self.name]
            self.holder["blob"] = blob
        else:
            self.holder[self.name] = {"blob": blob}


def with_uploads(session: Session, body: Mapping[str, Any]) -> Flow[dict[str, Any]]:
    """The body after its longest texts and files were uploaded, as many as needed for the rest to fit the request. Raises
    ValueError for a text or file that cannot be uploaded."""
    lean = copy.deepcopy(dict(body))
    places = sorted(_places(lean), key=lambda place: -place.size)
    left = sum(place.size for place in places)
    stored: dict[bytes, str] = {}
    for place in places:
        if left <= SENT_BYTES_MAX and place.size <= TEXT_BYTES_MAX:
            break
        left -= place.size
        content = place.content()
        if len(content) > BLOB_BYTES_MAX:
            raise ValueError(f"a text or a file has {len(content)} bytes; at most {BLOB_BYTES_MAX} are allowed")
        if content not in stored:
            stored[content] = (yield from upload(session, content))["blob"]
        place.put(stored[content])
    return lean


def _places(body: Mapping[str, Any]) -> list[_Place]:
    graders = [body[name] for name in ("checker", "interactor") if name in body] + body.get("validators", [])
    holders = [*body["programs"], *body["tests"], *graders]
    files = [file for holder in holders for file in holder.get("files", ())]
    names = ("code", "stdin", "expected", "content_base64")
    return [
        _Place(holder, name, len(json.dumps(holder[name], ensure_ascii=False).encode()))
        for holder in [*holders, *files]
        for name in names
        if isinstance(holder.get(name), str)
    ]
