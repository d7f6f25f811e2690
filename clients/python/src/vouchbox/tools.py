"""The tools of a run: the caller's functions that the program can call. Calls and answers are events of the job."""

from __future__ import annotations

import dataclasses
import inspect
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from .contract import Event, JobSubmission, ToolAnswerTaken, ToolCalls, ToolDescription, ToolLimitsInput
from .effects import Begin, Call, Flow, Invoke, Raised, Request, Running
from .failures import ServiceFailure, TransportFailure
from .session import Session, call, decode, job_path, read
from .submission import body_of
from .answer_check import check_answer
from .tool_schema import Schema, arguments_schema

_ERROR_CHARACTERS_MAX = 4096
_DESCRIPTION_CHARACTERS_MAX = 1024

_UNFIT = frozenset(("tool_result_misfit", "payload_too_large", "invalid_request", "invalid_json"))
"""Refusals of an answer whose form the service does not accept. The program gets an error instead of the answer."""

_LATE = frozenset(("job_terminal", "tool_call_answered", "job_not_found"))
"""Refusals after which nobody waits for the answer."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a program may call, and its description.

    Members that are left out come from the function: the description is the first paragraph of its docstring, and the JSON Schema
    of `arguments` comes from its type hints. A result that does not fit the schema `result` counts as the tool's error.
    """

    function: Callable[..., object]
    description: str | None = None
    arguments: Schema | None = None
    result: Schema | None = None
    timeout_seconds: float | None = None
    """How long the function may take. After that, the program is told that the tool took too long."""

    def described_as(self, name: str) -> ToolDescription:
        """The description of the tool that is sent to the service."""
        documented = (inspect.getdoc(self.function) or "").split("\n\n")[0][:_DESCRIPTION_CHARACTERS_MAX]
        told = {
            "name": name,
            "description": self.description if self.description is not None else documented or None,
            "arguments": self.arguments if self.arguments is not None else arguments_schema(self.function),
            "result": self.result,
        }
        return cast("ToolDescription", {word: value for word, value in told.items() if value is not None})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that waits for its answer."""

    job_id: str
    seq: int
    """The number of its event."""
    tool: str
    arguments: Any


Tools: TypeAlias = Mapping[str, Callable[..., object] | Tool]
Approve: TypeAlias = Callable[[ToolCall], object]
"""Called before a tool runs. Only True lets the tool run. Any other value refuses the call; a text tells the program why."""


def tool_calls(session: Session, job_id: str, *, after: int = 0, wait_seconds: float = 0.0) -> Flow[ToolCalls]:
    """The unanswered calls with numbers greater than `after`.

    With `wait_seconds` (0 to 300) the service replies once there is such a call. `next_cursor` is None once the job has ended.
    """
    path = job_path(job_id, "/tool-calls", after=after or None, wait_seconds=wait_seconds or None)
    route = "GET /v1/jobs/{id}/tool-calls"
    return cast("ToolCalls", (yield from read(session, path, route=route, wait_seconds=wait_seconds)))


def answer_tool_call(session: Session, job_id: str, seq: int, answer: Mapping[str, object]) -> Flow[ToolAnswerTaken]:
    """Answers the call that has this number. The answer is `{"result": …}` or `{"error": "…"}` and may be sent again."""
    headers = {"accept": "application/json", "content-type": "application/json"}
    request = Request("POST", job_path(job_id, f"/tool-calls/{seq}"), headers, body_of(answer))
    body = decode((yield from call(session, request)))
    check_answer("POST /v1/jobs/{id}/tool-calls/{seq}", body)
    return cast("ToolAnswerTaken", body)


def with_tools(
    submission: JobSubmission, tools: Tools, limits: ToolLimitsInput | None, recorded: Sequence[ToolDescription] = ()
) -> JobSubmission:
    """The submission with the tools added. A tool that the submission already describes keeps that description."""
    given = submission.get("tools", ())
    defined = [_tool_of(tool).described_as(name) for name, tool in tools.items()]
    described = {each["name"]: each for each in (*recorded, *defined, *given)}
    if not described and not tools:
        return submission
    more: JobSubmission = {**submission, "tools": list(described.values())}
    return more if limits is None else {**more, "tool_limits": limits}


def _tool_of(tool: Callable[..., object] | Tool) -> Tool:
    return tool if isinstance(tool, Tool) else Tool(tool)


@dataclass(slots=True)
class ToolRunner:
    """Answers the calls of one job while it runs, at most `at_once` at a time."""

    session: Session
    job_id: str
    is_replayed: bool
    tools: Tools
    approve: Approve | None
    at_once: int
    break_off: Callable[[], Flow[None]]
    failure: Raised | None = None
    """The first error that ends the run."""
    is_over: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _waiting: deque[ToolCall] = field(default_factory=deque[ToolCall])
    _running: list[Running] = field(default_factory=list[Running])
    _workers: int = 0

    def take(self, event: Event) -> Flow[None]:
        """Takes each event of the job. A tool call is answered while everything else continues."""
        if event["kind"] != "tool_call":
            return
        data = event["data"]
        if "refused" in data or data["tool"] not in self.tools:
            return
        with self._lock:
            self._waiting.append(ToolCall(self.job_id, event["seq"], data["tool"], data["arguments"]))
            begins = self._workers < self.at_once
            self._workers += begins
        if begins:
            running = yield Begin(self._work())
            self._running.append(cast("Running", running))

    def end(self) -> None:
        """Stops, because nobody waits for an answer any more."""
        self.is_over = True
        for running in self._running:
            running.cancel()

    def _work(self) -> Flow[None]:
        while (waiting := self._next()) is not None:
            try:
                yield from self._answer(waiting)
            except (Exception, SystemExit) as failure:
                yield from self._fail(failure)

    def _next(self) -> ToolCall | None:
        with self._lock:
            if self._waiting and not self.is_over and self.failure is None:
                return self._waiting.popleft()
            self._workers -= 1
            return None

    def _fail(self, failure: Raised) -> Flow[None]:
        """Ends the run with this error, and tells the flow that follows the job."""
        if self.is_over or self.failure is not None:
            return
        self.failure = failure
        yield from self.break_off()

    def _answer(self, waiting: ToolCall) -> Flow[None]:
        # If the job was submitted earlier, the call may already have an answer. The tool must then not run a second time.
        if self.is_replayed:
            page = yield from tool_calls(self.session, self.job_id, after=waiting.seq - 1)
            if not page["calls"] or page["calls"][0]["seq"] != waiting.seq:
                return
        verdict = True if self.approve is None else (yield Call(self.approve, waiting))
        if verdict is not True:
            return (yield from self._send(waiting, _error(verdict if isinstance(verdict, str) else "this call was not approved")))
        tool = _tool_of(self.tools[waiting.tool])
        try:
            result = yield Invoke(tool.function, waiting.arguments, tool.timeout_seconds)
            answer = {"result": json.loads(json.dumps(result, allow_nan=False, default=_plain))}
        except (Exception, SystemExit) as raised:
            answer = _error(_message_of(raised))
        yield from self._send(waiting, answer)

    def _send(self, waiting: ToolCall, answer: Mapping[str, object]) -> Flow[None]:
        try:
            yield from answer_tool_call(self.session, self.job_id, waiting.seq, answer)
        except (ServiceFailure, UnicodeEncodeError) as failure:
            code = failure.code if isinstance(failure, ServiceFailure) else "invalid_json"
            if code in _LATE:
                return
            if code not in _UNFIT or "error" in answer:
                raise
            yield from self._send(waiting, _error(f"the service refused its result: {failure}"))
        except TransportFailure:
            if not self.is_over:
                raise


def _plain(value: object) -> object:
    """The JSON form of an object that is a data class or a Pydantic model."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    dump = getattr(value, "model_dump", None)  # Pydantic models have this method.
    if callable(dump):
        return dump(mode="json")
    raise TypeError(f"a tool cannot return a {type(value).__name__}")


def _message_of(raised: Raised) -> str:
    return str(raised) or type(raised).__name__


def _error(text: str) -> dict[str, object]:
    return {"error": text[:_ERROR_CHARACTERS_MAX].encode(errors="replace").decode()}
