"""Sessions: each program begins with the variables and the files that the previous program left.

Each step is a job with its own receipt. The service keeps variables and files as outputs of these jobs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Concatenate, ParamSpec, cast
from . import contract
from .answer_check import check_answer, wrong_in
from .contract import JobSubmission, Violation
from .effects import Flow, Request
from .failures import ServiceFailure, SessionNotFound, TransportFailure
from .jobs import random_key
from .outcome import RunResult
from .run import run
from .session import Session, call, decode, part_of_path, read

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_STATE = "output/.session/state"
_KEPT = "output/.session/kept.json"
_REPORT = {"globals": "i", "files": "i", "not_kept": [{"kind": "s", "name": "s", "reason": "s"}], "more_not_kept": "i"}

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class NotKept:
    """What a step could not keep, and why."""

    kind: str
    """`global` or `file`."""
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Kept:
    """What a step kept. What it could not keep is listed by name, with the reason."""

    globals: int
    files: int
    not_kept: tuple[NotKept, ...]
    more_not_kept: int
    """How many further things the step could not keep. `not_kept` does not list them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult(RunResult):
    """The result of a step. The files that store the session's state, and violations about them, are left out.

    The program itself reports what was kept, so only its caller should rely on the report.
    """

    moved: bool
    """Whether the session now stands at this step. False if the program failed or its state was too large."""
    kept: Kept | None
    problem: str | None
    """Why the session does not stand at this step although the program ended well."""


@dataclass(slots=True)
class SessionState:
    """The last known state of a session."""

    session: Session
    name: str
    language: str
    last_job: str | None


def open_session(session: Session, name: str | None, language: str | None) -> Flow[SessionState]:
    """The existing session with this name, or a new one. Raises ValueError for a name that no session can have."""
    given = f"session-{random_key()}" if name is None else name
    if _NAME.fullmatch(given) is None:
        raise ValueError('a session has 1 to 64 letters, digits, ".", "_" and "-", and begins with a letter or a digit')
    try:
        found = yield from standing(session, given)
    except SessionNotFound:
        return SessionState(session, given, language or "python", None)
    return SessionState(session, given, language or found["language"], found["last_job_id"])


def standing(session: Session, name: str) -> Flow[contract.Session]:
    """The present state of one of the principal's sessions."""
    return cast(contract.Session, (yield from read(session, _path(name), route="GET /v1/sessions/{session}")))


def sessions(session: Session) -> Flow[list[contract.Session]]:
    """The principal's sessions, ordered by name."""
    body = yield from read(session, "/v1/sessions", route="GET /v1/sessions")
    return cast("list[contract.Session]", body["items"])


def remove_session(session: Session, name: str) -> Flow[None]:
    """Removes a session. Its jobs are kept as long as other jobs are."""
    body = decode((yield from call(session, Request("DELETE", _path(name), {"accept": "application/json"}))))
    check_answer("DELETE /v1/sessions/{session}", body)


def remove(state: SessionState) -> Flow[None]:
    """Removes the session. Its jobs are kept as long as other jobs are."""
    yield from remove_session(state.session, state.name)
    state.last_job = None


def _stepping(
    runs: Callable[Concatenate[Session, str | JobSubmission, P], Flow[RunResult]],
) -> Callable[Concatenate[SessionState, str | JobSubmission, P], Flow[StepResult]]:
    def run_step(state: SessionState, program: str | JobSubmission, *args: P.args, **kwargs: P.kwargs) -> Flow[StepResult]:
        """Runs a program as the next step. Takes all arguments of `Client.run`. If it fails, the session stays as it was.

        Raises `SessionConflict` if another step was accepted meanwhile.
        """
        given = {"language": state.language, "code": program} if isinstance(program, str) else program
        step = {**given, "session": {"name": state.name, "after": state.last_job}}
        result = _step_of((yield from runs(state.session, cast(JobSubmission, step), *args, **kwargs)))
        if not result.moved:
            return result
        problem = yield from _elsewhere(state, result.job_id)
        if problem is not None:
            return replace(result, moved=False, problem=problem)
        state.last_job = result.job_id
        return result

    return run_step


run_step = _stepping(run)


def _elsewhere(state: SessionState, job_id: str) -> Flow[str | None]:
    """Why a session does not stand at a step that left a state. None if the session does, or if the service cannot be asked."""
    try:
        found = yield from standing(state.session, state.name)
    except SessionNotFound:
        return "the session was removed while the step ran"
    except (ServiceFailure, TransportFailure):
        return None
    return None if found["last_job_id"] == job_id else "the session moved on, or was begun anew, while the step ran"


def _step_of(result: RunResult) -> StepResult:
    report = _report_of(result.files.get(_KEPT))
    moved = result.ok and any(record["path"] == _STATE for record in result.large_outputs)
    refused = next((each["message"] for each in result.violations if each.get("path") == _STATE), None)
    problem = report.get("problem", refused)
    members = {member.name: getattr(result, member.name) for member in fields(result)}
    members["files"] = {path: content for path, content in result.files.items() if path != _KEPT}
    members["violations"] = _without_own(result.violations)
    members["lost"] = _without_own(result.lost)
    members["large_outputs"] = tuple(each for each in result.large_outputs if each["path"] != _STATE)
    return StepResult(
        **members,
        moved=moved,
        kept=_kept_of(report),
        problem=problem if result.ok and not moved and isinstance(problem, str) else None,
    )


def _without_own(violations: tuple[Violation, ...]) -> tuple[Violation, ...]:
    return tuple(each for each in violations if each.get("path") not in (_STATE, _KEPT))


def _report_of(content: bytes | None) -> Mapping[str, Any]:
    try:
        report: object = json.loads(content or b"")
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, Any]", report) if isinstance(report, dict) else {}


def _kept_of(report: Mapping[str, Any]) -> Kept | None:
    """The program's report, or None if what it wrote is no report: a program may write anything."""
    if wrong_in(report, _REPORT, "the report") is not None:
        return None
    not_kept = tuple(NotKept(each["kind"], each["name"], each["reason"]) for each in report["not_kept"])
    return Kept(report["globals"], report["files"], not_kept, report["more_not_kept"])


def _path(name: str) -> str:
    return f"/v1/sessions/{part_of_path(name)}"
