"""Grading a program against tests that it does not see.

Each test is a job of its own, in a cell of its own: none sees another, and none sees the expected output. A last job judges,
and its output is the verdict, signed by the service like any result. docs/GRADING.md says what a verdict shows.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files as resources
from typing import Any, Literal, TypeAlias, cast

from .contract import FileContent, IsolationClass, JobSubmission, LimitsInput
from .effects import Call, Flow
from .failures import TransportFailure
from .outcome import RunResult
from .run import run
from .session import Session

Comparison: TypeAlias = Literal["lines", "words", "exact"]

GRADING_FILE = "input/grading.json"
VERDICT_FILE = "output/verdict.json"
FILE_BYTES_MAX = 2 * 1024 * 1024
"""The most bytes of an input file of a job."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeResult:
    """The result of a grading."""

    verdict: Mapping[str, Any]
    """The verdict: `accepted`, `points`, `points_max`, and `tests` with the verdict of each."""
    data: bytes = field(repr=False)
    """The exact bytes of the verdict: an output file of the job that judged."""
    job_id: str
    """The job that judged. Its attestation is the signature of the verdict."""
    receipt_sha256: str


def judge() -> str:
    """The program that judges. A verifier knows it by its digest."""
    return (resources("vouchbox") / "judge.txt").read_text(encoding="utf-8")


def grade(
    session: Session,
    program: str | JobSubmission,
    *,
    tests: Sequence[GradeTest],
    checker: Checker | None = None,
    language: str | None = None,
    runtime: str | None = None,
    minimum_isolation: IsolationClass | None = None,
    limits: LimitsInput | None = None,
    on_test: Callable[[str, RunResult], object] | None = None,
) -> Flow[GradeResult]:
    """Grades a program and returns the verdict. A program that fails its tests is a verdict, not an error.

    The tests run one after the other. `on_test` is called with the name of each as it has run. Raises ValueError if there are
    no tests, if two have the same name, or if all outputs and what is expected of them are more than 2 MiB together.
    """
    if not tests:
        raise ValueError("a grading needs at least one test")
    if len({test.name for test in tests}) < len(tests):
        raise ValueError("two tests have the same name")
    records: list[dict[str, Any]] = []
    code_sha256 = None
    for test in tests:
        ended = yield from run(
            session,
            program,
            language=language,
            files=test.files,
            outputs=(),
            stdin=test.stdin,
            args=test.args,
            runtime=runtime,
            minimum_isolation=minimum_isolation,
            limits=limits,
        )
        if on_test is not None:
            yield Call(functools.partial(_told, on_test, ended), test.name)
        code_sha256 = code_sha256 or ended.receipt.get("code_sha256")
        records.append((yield from _record_of(session, test, ended, checker)))
    said = language or ("python" if isinstance(program, str) else program["language"])
    return (yield from _judged(session, {"program": {"language": said, "code_sha256": code_sha256}, "tests": records}))


def _told(on_test: Callable[[str, RunResult], object], ended: RunResult, name: str) -> object:
    return on_test(name, ended)


def _record_of(
    session: Session, test: GradeTest, ended: RunResult, checker: Checker | None
) -> Flow[dict[str, Any]]:
    """A test as the judge gets it, after its checker ran if there is one and the program ended well."""
    is_checked = checker is not None and ended.ok and not ended.truncated
    return {
        "name": test.name,
        "points": test.points,
        "job_id": ended.job_id,
        "receipt_sha256": ended.receipt_sha256,
        "terminal_reason": ended.terminal_reason,
        "exit_code": ended.exit_code,
        "truncated": ended.truncated,
        "stdout": ended.stdout,
        "expected": test.expected,
        "compare": test.compare,
        "checker": (yield from _checked(session, test, ended, checker)) if checker and is_checked else None,
    }


def _checked(session: Session, test: GradeTest, ended: RunResult, checker: Checker) -> Flow[dict[str, Any]]:
    files = {"stdin": test.stdin or "", "expected": test.expected or "", "output": ended.stdout}
    checked = yield from run(session, checker.code, language=checker.language, files=files, outputs=())
    return {
        "job_id": checked.job_id,
        "receipt_sha256": checked.receipt_sha256,
        "code_sha256": checked.receipt.get("code_sha256", ""),
        "terminal_reason": checked.terminal_reason,
        "exit_code": checked.exit_code,
    }


def _judged(session: Session, grading: Mapping[str, Any]) -> Flow[GradeResult]:
    text = json.dumps(grading, ensure_ascii=False, allow_nan=False).encode()
    if len(text) > FILE_BYTES_MAX:
        raise ValueError(f"the outputs and what is expected of them are more than {FILE_BYTES_MAX} bytes together")
    judged = yield from run(session, judge(), language="python", files={GRADING_FILE: text}, outputs=(VERDICT_FILE,))
    data = judged.files.get(VERDICT_FILE)
    if data is None or not judged.ok:
        raise TransportFailure("undecodable", f"{judged.job_id} gave no verdict: {judged.stderr[-500:]}")
    return GradeResult(
        verdict=cast("Mapping[str, Any]", json.loads(data)),
        data=data,
        job_id=judged.job_id,
        receipt_sha256=judged.receipt_sha256,
    )
