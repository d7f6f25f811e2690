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
from typing import Any

from .contract import FileContent, IsolationClass, JobSubmission, LimitsInput
from .effects import Call, Flow
from .failures import TransportFailure
from .grade_input import BLOB_BYTES_MAX, FILE_BYTES_MAX, Checker, GradeTest, check_grading, compiler_problem
from .jobs import upload
from .outcome import RunResult
from .run import run
from .session import Session
from .verdict import verdict_of

GRADING_FILE = "input/grading.json"
VERDICT_FILE = "output/verdict.json"

LARGE: LimitsInput = {"cpu_seconds": 60, "wall_seconds": 120, "mem_mb": 1024}
"""What a large grading needs of its judge. A ceiling that is lower holds."""

ENDS = frozenset(("exited", "signaled", "wall_limit", "cpu_limit", "memory_limit", "compile_failed"))
"""How a program itself can end. With any other reason it did not run, or not to an end of its own."""


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
    not_run: Mapping[str, str]
    """Why a test is `not_run`, by its name: such as that its compiler met a limit. The verdict does not have it."""


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

    The tests run one after the other. `on_test` is called with the name of each as it has run. Raises ValueError before the
    first job if there are no tests, two of one name, or one that no job can take; and after the tests if the program wrote
    more than a judge can be given.
    """
    check_grading(program, tests, checker)
    records: list[dict[str, Any]] = []
    not_run: dict[str, str] = {}
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
        problem = _problem_of(ended)
        if problem is not None:
            not_run[test.name] = problem
        records.append((yield from _record_of(session, test, ended, checker, problem)))
    said = language or ("python" if isinstance(program, str) else program["language"])
    grading = {"program": {"language": said, "code_sha256": code_sha256}, "tests": records}
    return (yield from _judged(session, grading, not_run))


def _told(on_test: Callable[[str, RunResult], object], ended: RunResult, name: str) -> object:
    return on_test(name, ended)


def _problem_of(ended: RunResult) -> str | None:
    """Why there is nothing to judge. None if there is."""
    if ended.terminal_reason not in ENDS:
        return f"{ended.job_id} ended as {ended.status}: {ended.terminal_reason or 'no reason is recorded'}"
    return compiler_problem(ended.terminal_reason, ended.violations, ended.stderr)


def _is_stdout_cut(ended: RunResult) -> bool:
    """Whether some of the output that is judged is unknown. What a compiler or the program said on stderr does not count."""
    seen = ended.receipt.get("executor_output")
    return ended.truncated if seen is None else bool(seen["stdout"]["executor_truncated"])


def _record_of(
    session: Session, test: GradeTest, ended: RunResult, checker: Checker | None, problem: str | None
) -> Flow[dict[str, Any]]:
    """A test as the judge gets it, after its checker ran if there is one and the program ended well.

    Without a terminal reason, the judge says `not_run`.
    """
    truncated = _is_stdout_cut(ended)
    is_checked = checker is not None and ended.ok and not truncated
    return {
        "name": test.name,
        "points": test.points,
        "job_id": ended.job_id,
        "receipt_sha256": ended.receipt_sha256,
        "terminal_reason": ended.terminal_reason if problem is None else None,
        "exit_code": ended.exit_code,
        "truncated": truncated,
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


def _judged(session: Session, grading: Mapping[str, Any], not_run: Mapping[str, str]) -> Flow[GradeResult]:
    """The verdict. A grading that is too large to be sent with the job of its judge is uploaded before."""
    text = json.dumps(grading, ensure_ascii=False, allow_nan=False).encode()
    if len(text) > BLOB_BYTES_MAX:
        most = f"at most {BLOB_BYTES_MAX} can be judged together"
        raise ValueError(f"there is no verdict: what the program wrote and should write has {len(text)} bytes; {most}")
    is_large = len(text) > FILE_BYTES_MAX
    given: FileContent = (yield from upload(session, text)) if is_large else text
    judged = yield from run(
        session,
        judge(),
        language="python",
        files={GRADING_FILE: given},
        outputs=(VERDICT_FILE,),
        limits=LARGE if is_large else None,
    )
    data = judged.files.get(VERDICT_FILE)
    if data is None or not judged.ok:
        raise TransportFailure("undecodable", f"{judged.job_id} gave no verdict: {judged.stderr[-500:]}")
    return GradeResult(
        verdict=verdict_of(data, grading),
        data=data,
        job_id=judged.job_id,
        receipt_sha256=judged.receipt_sha256,
        not_run=not_run,
    )
