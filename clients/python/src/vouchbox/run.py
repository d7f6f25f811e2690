"""Runs a program to its end in one call, and ends the job if the call is broken off."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .answering import answering_for
from .ask_until_ended import WAIT_SECONDS
from .contract import (
    Event,
    FileContent,
    IsolationClass,
    JobSubmission,
    Libraries,
    LimitsInput,
    StoredBlob,
    ToolLimitsInput,
)
from .effects import Call, Flow, TakeTurn
from .failures import EvidenceFailure, ServiceFailure, TransportFailure, VouchboxError
from .follow import Follower
from .jobs import cancel_request, detail, random_key, submission_request, submitted_of, submitted_with, wait
from .outcome import Result, RunResult, Submitted, parse_result, run_result_of
from .promise import PromiseWish, makes_promises
from .replay import ToolReplay, recorded_tools
from .session import Session, accepted, exchange_soon, facts_of, supports
from .submission import EVERY_OUTPUT, submission_of
from .tools import Approve, ToolRunner, Tools, with_tools

_RUNS_USUAL = 8
"""How many runs may be open at a service that does not state this number."""

OnText = Callable[[str], object]
"""Takes output as the program wrote it, with newlines. If the function returns an awaitable, the asyncio client awaits it."""


def run(
    session: Session,
    program: str | JobSubmission,
    *,
    language: str | None = None,
    files: Mapping[str, FileContent] | None = None,
    outputs: Sequence[str] | None = None,
    stdin: str | None = None,
    args: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    runtime: str | None = None,
    minimum_isolation: IsolationClass | None = None,
    limits: LimitsInput | None = None,
    reproducible: bool | None = None,
    libraries: Libraries | StoredBlob | None = None,
    labels: Sequence[str] | None = None,
    sign_labels: bool | None = None,
    idempotency_key: str | None = None,
    on_stdout: OnText | None = None,
    on_stderr: OnText | None = None,
    promise: PromiseWish = False,
    tools: Tools | None = None,
    approve: Approve | None = None,
    tool_limits: ToolLimitsInput | None = None,
    tools_at_once: int = 16,
    replay: Sequence[Event] | None = None,
) -> Flow[RunResult]:
    """Runs a program and returns its result. A program that fails is a result, not an error.

    `program` is code in `language` (default `python`), or a whole submission as the contract defines it. `files` has the content
    of each input file; `data.csv` is `input/data.csv` in the cell. The files that the program leaves below `output/`, or only
    those that `outputs` names, come back in the result's `files`. `libraries` is what `upload` returned for an archive of
    packages that `vouchbox libraries pack` wrote.

    Any number of calls may run at once: the client holds back calls that the service would refuse until it is their turn.

    `on_stdout` and `on_stderr` take output while the program runs. Ctrl-C, a cancellation of the task or an error from a callback
    cancels the job and is then raised here.

    `tools` are functions that the program may call by their names, as `tools.search(query="…")`. An error that a tool raises
    becomes an exception in the program. `Client` calls tools in threads, and so does `AsyncClient` unless they are coroutines. At
    most `tools_at_once` run at a time. `approve` is called before each tool.

    `replay` has the events of an earlier run. This run's calls get the answers from that run in the same order; no tool runs. The
    first call that differs ends the run with an `EvidenceFailure` whose check is `transcript`.

    With `promise`, a promise is requested and comes with the result. With `"required"`, a run without a promise fails and its job
    is cancelled, even if the service keeps no log.
    """
    submission = submission_of(
        program,
        language=language,
        files=files,
        outputs=outputs,
        stdin=stdin,
        args=args,
        env=env,
        runtime=runtime,
        minimum_isolation=minimum_isolation,
        limits=limits,
        reproducible=reproducible,
        libraries=libraries,
        labels=labels,
        sign_labels=sign_labels,
    )
    if tools is not None or replay is not None:
        submission = with_tools(submission, tools or {}, tool_limits, recorded_tools(replay or ()))
    if "build" not in submission:  # A build brings back only its product.
        submission.setdefault("outputs", list(EVERY_OUTPUT))
    is_promised = yield from makes_promises(session, promise)
    if is_promised:  # To end the job, the same submission is sent again.
        submission["promise"] = True
    wish = promise if is_promised else False
    key = idempotency_key or random_key()
    running = _Run(session, submission, key, on_stdout, on_stderr, wish, tools, approve, tools_at_once, replay)
    yield from take_turn(session)
    try:
        ended = yield from running.result()
        receipt = running.receipt
        if receipt is None:
            receipt = (yield from detail(accepted(session), ended.job_id)).get("receipt")
        kept = None if running.submitted is None else running.submitted.promise
        return replace(run_result_of(ended, receipt, submission.get("limits")), promise=kept)
    except GeneratorExit:
        raise
    except BaseException as failure:
        is_telling = isinstance(failure, ServiceFailure | TransportFailure | EvidenceFailure)
        # An error from a callback may name the job of another run.
        if is_telling and failure.job_id is None and running.submitted is not None:
            failure.job_id, failure.promise = running.submitted.job_id, running.submitted.promise
        yield from running.abandon()
        raise
    finally:
        session.runs.pass_on()


def take_turn(session: Session) -> Flow[None]:
    """Waits until the tenant may have one more run open, then takes a turn. The caller must pass the turn on."""
    runs_max = (yield from facts_of(session)).runs_max
    yield TakeTurn(session.runs, _RUNS_USUAL if runs_max is None else runs_max)


@dataclass(slots=True)
class _Run:
    session: Session
    submission: JobSubmission
    idempotency_key: str
    on_stdout: OnText | None
    on_stderr: OnText | None
    promise: PromiseWish
    tools: Tools | None
    approve: Approve | None
    tools_at_once: int
    replay: Sequence[Event] | None
    submitted: Submitted | None = None
    job_id: str | None = None
    receipt: Mapping[str, Any] | None = None
    """The receipt, if it came with the result."""
    was_refused: bool = False

    def result(self) -> Flow[Result]:
        # Tool calls are also events.
        if self.on_stdout is None and self.on_stderr is None and self.tools is None and self.replay is None:
            return (yield from self._waited())
        submitted = yield from self._submit(None)
        follower = Follower(self.session, submitted.job_id, tells_end=True)
        runner = self._answering(submitted)
        try:
            while events := (yield from follower.next_events()):
                for event in events:
                    yield from runner.take(event)
                    yield from self._pass_on(event)
        finally:
            runner.end()
        if runner.failure is not None:
            raise runner.failure
        ended = follower.ended or {}
        self.receipt = ended.get("receipt")
        told = ended.get("result")
        return parse_result(told) if told is not None else (yield from wait(self.session, submitted.job_id))

    def _answering(self, submitted: Submitted) -> ToolRunner | ToolReplay:
        return answering_for(
            self.session,
            submitted.job_id,
            is_replayed=submitted.replayed,
            tools=self.tools,
            approve=self.approve,
            tools_at_once=self.tools_at_once,
            replay=self.replay,
            break_off=self.abandon,
        )

    def _waited(self) -> Flow[Result]:
        """Waits for the result. If the service can do that, one request brings the result and the receipt."""
        is_held = yield from supports(self.session, "submission_wait")
        tells_more = yield from supports(self.session, "submission_include")
        submitted = yield from self._submit(WAIT_SECONDS if is_held else None, "receipt" if tells_more else None)
        if submitted.result is not None and submitted.result.is_terminal:
            self.receipt = submitted.receipt
            return submitted.result
        return (yield from wait(self.session, submitted.job_id))

    def _submit(self, wait_seconds: float | None, include: str | None = None) -> Flow[Submitted]:
        try:
            self.submitted = yield from submitted_with(
                self.session, self.submission, self.idempotency_key, self.promise, wait_seconds, include
            )
        except (ServiceFailure, TransportFailure, EvidenceFailure) as failure:
            self.job_id = failure.job_id
            self.was_refused = failure.job_id is None
            raise
        self.job_id = self.submitted.job_id
        return self.submitted

    def _pass_on(self, event: Event) -> Flow[None]:
        if event["kind"] == "stdout" or event["kind"] == "stderr":
            function = self.on_stdout if event["kind"] == "stdout" else self.on_stderr
            data = event["data"]
            if function is not None:
                yield Call(function, data["text"] + ("" if data.get("partial") else "\n"))

    def abandon(self) -> Flow[None]:
        """Ends the job, in one try of some seconds. If the submission was broken off, its key finds the job."""
        if self.was_refused:
            return
        try:
            if self.job_id is None:
                again = yield from exchange_soon(submission_request(self.submission, self.idempotency_key))
                self.job_id = submitted_of(again, self.idempotency_key).job_id
            yield from exchange_soon(cancel_request(self.job_id))
        except VouchboxError:
            # The error at hand says more than this failure to end the job. The job's limits end it anyway.
            return
