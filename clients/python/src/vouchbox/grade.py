"""Grades a program, in one request, against tests that it does not see.

The service makes one job for each test, each in a cell of its own, and a last job that judges. The judge job's output is the
verdict, signed like any result. docs/GRADING.md says what a verdict shows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .backoff import is_away
from .canonical_json import sha256_hex
from .compiler_end import compiler_problem
from .contract import GradingGroup, IsolationClass, JobSubmission, LimitsInput
from .effects import Call, Flow
from .failures import BlobUnavailable, RouteNotFound, ServiceFailure, TransportFailure, VouchboxError
from .grade_input import Checker, GradeTest, defined, grader_of, test_of, with_uploads
from .gradings import EventFollower, cancel_grading_request, grading_request, stored_of, submit_grading, wait_for_grading
from .jobs import detail, random_key, result
from .outcome import RunResult, run_result_of
from .run import take_turn
from .session import Session, accepted, exchange_soon
from .submission import submission_of
from .verdict import VERDICT_SCHEMA, GradingJobs, verdict_of

VERDICT_FILE = "output/verdict.json"

ENDS = frozenset(("exited", "signaled", "wall_limit", "cpu_limit", "memory_limit", "compile_failed"))
"""The program itself or its limits caused these ends. With others, the program did not run, or something else ended it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeResult:
    """The result of a grading."""

    verdict: Mapping[str, Any]
    """The verdict: `accepted`, `points`, `points_max`, `groups`, and `tests` with each test's verdict and usage."""
    data: bytes = field(repr=False)
    """The exact bytes of the verdict, which is an output file of the job that judged."""
    grading_id: str
    job_id: str
    """The job that judged. The signature of the verdict is this job's attestation."""
    receipt_sha256: str
    not_run: Mapping[str, str]
    """Why tests are `not_run` or `compile_limit`, keyed by test name. The verdict does not have these reasons."""
    jobs: tuple[str, ...]
    """Every other job of the grading, in the order in which they ended."""


def grade(
    session: Session,
    program: str | JobSubmission,
    *,
    tests: Sequence[GradeTest],
    checker: Checker | None = None,
    interactor: Checker | None = None,
    validators: Sequence[Checker] | None = None,
    groups: Sequence[GradingGroup] | None = None,
    stop: bool | None = None,
    language: str | None = None,
    runtime: str | None = None,
    minimum_isolation: IsolationClass | None = None,
    limits: LimitsInput | None = None,
    idempotency_key: str | None = None,
    on_test: Callable[[str, RunResult], object] | None = None,
) -> Flow[GradeResult]:
    """Grades a program and returns the verdict. A program that fails its tests is a verdict, not an error.

    `checker` judges the output of each test, and `validators` its input. An `interactor` talks to the program and judges in place
    of a checker. By default, the interactor of `program` is used. Without `groups`, all points are added up, and `stop` says
    whether the grading ends at the first test that wins nothing.

    `on_test` is called with the name of each test that has run, and again if it is repeated because processors were busy.
    Ctrl-C, a cancellation of the task or an error from the callback cancels the grading and is then raised here.

    Any number of calls may run at once: the client holds back calls that the service would refuse until it is their turn.
    """
    given = submission_of(program, language=language, runtime=runtime, minimum_isolation=minimum_isolation, limits=limits)
    if "libraries" in given:
        raise ValueError("a program of a grading takes no libraries: name a runtime pack that has them")
    paired = given.get("interactor")
    members = {
        "verdict": VERDICT_SCHEMA,
        "programs": [_only(given, _OF_PROGRAM)],
        "tests": [test_of(test, given) for test in tests],
        "checker": checker and grader_of(checker),
        "interactor": grader_of(interactor) if interactor else paired and _only(paired, (*_OF_PROGRAM, "args", "limits")),
        "validators": None if validators is None else [grader_of(one) for one in validators],
        "groups": None if groups is None else list(groups),
        "stop": stop,
        "limits": given.get("limits"),
        "requirements": given.get("requirements"),
    }
    grading = _Grading(session, defined(members), idempotency_key or random_key())
    yield from take_turn(session)
    try:
        yield from grading.submit()
        yield from grading.follow(on_test)
        return (yield from grading.result())
    except GeneratorExit:
        raise
    except BaseException as failure:
        is_gone = False
        # A callback may raise such an error too, about another service.
        if not grading.is_calling and isinstance(failure, ServiceFailure | TransportFailure):
            failure.grading_id = grading.grading_id
            # A service that is away continues the grading once it is back, so the verdict can still be read later.
            is_gone = grading.grading_id is not None and is_away(failure)
        if not is_gone:
            yield from grading.abandon()
        raise
    finally:
        session.runs.pass_on()


_OF_PROGRAM = ("language", "code", "env", "files", "runtime")
"""The members that a submission and a program in a grading have in common."""


def _only(given: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return defined({name: given.get(name) for name in names})


@dataclass(slots=True)
class _Grading:
    session: Session
    sent: Mapping[str, Any]
    """The body before texts are uploaded, with every text in it."""
    idempotency_key: str
    body: Mapping[str, Any] | None = None
    """The body as it was last sent. None if there is nothing to abandon."""
    grading_id: str | None = None
    jobs: GradingJobs = field(default_factory=GradingJobs)
    is_calling: bool = False
    """Whether a call of the caller's function is in progress."""

    def submit(self) -> Flow[None]:
        """Stores the grading. If another grading with the same expected output has used up an upload, uploads again."""
        tries = 1
        while self.grading_id is None:
            self.body = None
            body = yield from with_uploads(self.session, self.sent)
            self.body = body
            try:
                stored = yield from submit_grading(self.session, body, idempotency_key=self.idempotency_key)
                self.grading_id = stored["grading_id"]
            except ServiceFailure as failure:
                self.body = None
                if isinstance(failure, RouteNotFound):
                    message = "this service is too old for gradings: a newer service makes the jobs of a grading itself"
                    raise TransportFailure("unstructured", message, status=failure.status) from failure
                tries += 1
                if not isinstance(failure, BlobUnavailable) or body == self.sent or tries > self.session.retry.attempts_max:
                    raise

    def follow(self, on_test: Callable[[str, RunResult], object] | None) -> Flow[None]:
        """Notes the grading's jobs until the grading ends. Events name a program's job, and that job's receipt names the
        interactor's job."""
        assert self.grading_id is not None
        if on_test is None:
            # Without a callback, all events are read together at the end.
            yield from wait_for_grading(self.session, self.grading_id)
        follower = EventFollower(self.session, self.grading_id)
        while not follower.has_finished:
            for event in (yield from follower.next_events()):
                name, test, job_id = (event["data"].get(member) for member in ("name", "test", "job_id"))
                if event["kind"] != "job" or job_id is None:
                    continue
                self.jobs.ids[job_id] = None
                if test is not None and name is not None and name.startswith("test "):
                    self.jobs.tests[test] = job_id
                    yield from self._note_run(test, job_id, on_test)

    def _note_run(self, test: str, job_id: str, on_test: Callable[[str, RunResult], object] | None) -> Flow[None]:
        if on_test is None and "interactor" not in self.sent:
            return
        ended = yield from self._ended(job_id)
        if "interaction" in ended.receipt:
            self.jobs.ids[ended.receipt["interaction"]["peer"]] = None
        if on_test is not None:
            self.is_calling = True
            yield Call(functools.partial(_told, on_test, ended), test)
            self.is_calling = False

    def _ended(self, job_id: str) -> Flow[RunResult]:
        ended = yield from result(accepted(self.session), job_id)
        receipt = (yield from detail(accepted(self.session), job_id)).get("receipt")
        return run_result_of(ended, receipt, self.sent.get("limits"))

    def result(self) -> Flow[GradeResult]:
        """The verdict. It must have the digest that the service has stated."""
        assert self.grading_id is not None
        found = yield from wait_for_grading(self.session, self.grading_id)
        nothing: dict[str, Any] = {"status": "no program", "verdict": None, "problem": None}
        said: dict[str, Any] = next(iter(found["graded"]), nothing)
        judge = said["verdict"]
        if judge is None or judge["job_id"] not in self.jobs.ids:
            why = said["problem"] or said["status"]
            raise TransportFailure("undecodable", f"{self.grading_id} gave no verdict: {why}")
        job_id = judge["job_id"]
        data = (yield from result(accepted(self.session), job_id)).files.get(VERDICT_FILE)
        if data is None or sha256_hex(data) != judge["verdict_sha256"]:
            raise TransportFailure("undecodable", f"the verdict of {job_id} differs from the grading's")
        verdict = verdict_of(data, self.sent, self.jobs)
        return GradeResult(
            verdict=verdict,
            data=data,
            grading_id=self.grading_id,
            job_id=job_id,
            receipt_sha256=judge["receipt_sha256"],
            not_run=(yield from self._not_run(verdict)),
            jobs=tuple(each for each in self.jobs.ids if each != job_id),
        )

    def _not_run(self, verdict: Mapping[str, Any]) -> Flow[dict[str, str]]:
        problems: dict[str, str] = {}
        not_run: dict[str, str] = {}
        for test in verdict["tests"]:
            job = test["run"] or verdict["program"]["build"]
            if job is None or test["verdict"] not in ("not_run", "compile_limit"):
                continue
            if job["job_id"] not in problems:
                problems[job["job_id"]] = _problem_of((yield from self._ended(job["job_id"])))
            not_run[test["name"]] = problems[job["job_id"]]
        return not_run

    def abandon(self) -> Flow[None]:
        """Ends the grading, in one try of some seconds. If the submission was broken off, its key finds the grading."""
        if self.body is None:
            return
        try:
            if self.grading_id is None:
                again = yield from exchange_soon(grading_request(self.body, self.idempotency_key))
                self.grading_id = stored_of(again)["grading_id"]
            assert self.grading_id is not None
            yield from exchange_soon(cancel_grading_request(self.grading_id))
        except VouchboxError:
            # The error at hand says more than this failure to end the grading.
            return


def _told(on_test: Callable[[str, RunResult], object], ended: RunResult, name: str) -> object:
    return on_test(name, ended)


def _problem_of(ended: RunResult) -> str:
    """Why the end of this run says nothing about the program."""
    compiler = (
        compiler_problem(ended.terminal_reason, ended.violations, ended.stderr) if ended.terminal_reason in ENDS else None
    )
    return compiler or f"{ended.job_id} ended as {ended.status}: {ended.terminal_reason or 'no reason is recorded'}"
