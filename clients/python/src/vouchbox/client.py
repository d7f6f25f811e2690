"""The client for ordinary code: it carries out the effects of a flow one after the other, and waits for each."""

from __future__ import annotations

import asyncio
import functools
import inspect
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Concatenate, Generic, ParamSpec, TypeVar, cast

import httpx

from . import answering as _answering
from . import follow as _follow
from . import grade as _grade
from . import gradings as _gradings
from . import jobs as _jobs
from . import links as _links
from . import program_session as _sessions
from . import record as _record
from . import run as _run
from . import tools as _tools
from . import workspace as _workspace
from .backoff import Retry
from .effects import Answer, Begin, Call, Effect, Emit, Flow, Invoke, Pause, Raised, Request, Send, Stream, TakeTurn, advance
from .program_session import SessionState
from .session import Session
from .transport import Gathering, arguments_of, send_at_once
from .turns import Turns
from .workspace import WorkspaceState
from .workspace_files import WorkspaceFiles

C = TypeVar("C")
T = TypeVar("T")
P = ParamSpec("P")


class _Driver(Generic[C]):
    """Carries out the effects of flows that work on a C."""

    def __init__(self, context: C, session: Session, http: httpx.Client) -> None:
        self._context = context
        self._session = session
        self._http = http

    def _drive(self, flow: Flow[T]) -> T:
        reply: object = None
        failure: BaseException | None = None
        while True:
            try:
                effect = advance(flow, reply, failure)
            except StopIteration as end:
                return end.value
            reply, failure = self._attempt(effect)

    def _iterate(self, stream: Stream[T]) -> Iterator[T]:
        reply: object = None
        failure: BaseException | None = None
        try:
            while True:
                try:
                    effect = advance(stream, reply, failure)
                except StopIteration:
                    return
                if isinstance(effect, Emit):
                    reply, failure = None, None
                    yield effect.value
                else:
                    reply, failure = self._attempt(effect)
        finally:
            stream.close()

    def _attempt(self, effect: Effect) -> tuple[object, BaseException | None]:
        """The reply to an effect, or the error. Ctrl-C also counts as an error: the flow may have a job to cancel.
        """
        try:
            return self._carry_out(effect), None
        except BaseException as failure:
            return None, failure

    def _carry_out(self, effect: Effect) -> object:
        match effect:
            case Send(request):
                return self._exchange(request)
            case Pause(seconds):
                return time.sleep(seconds)
            case TakeTurn(turns, most):
                return _take(turns, most)
            case Call(function, about):
                return function(about)
            case Invoke():
                return _invoked(effect)
            case Begin(flow):
                # A thread cannot be ended from outside, and one that hangs must not keep the process alive.
                threading.Thread(target=self._drive, args=(flow,), daemon=True).start()
                return _Left()

    def _exchange(self, request: Request) -> Answer:
        gathering = Gathering(self._session, request)
        try:
            with self._http.stream(**arguments_of(self._session, request)) as response:
                send_at_once(response)
                gathering.begin(response)
                for chunk in response.iter_bytes():
                    gathering.add(chunk)
            return gathering.answer()
        except httpx.HTTPError as error:
            raise gathering.failure(error) from error


class _Left:
    """A thread that cannot be cancelled."""

    def cancel(self) -> None: ...


def _invoked(effect: Invoke) -> object:
    if effect.timeout_seconds is None:
        return _returned(effect)
    replies: queue.SimpleQueue[tuple[object, Raised | None]] = queue.SimpleQueue()

    def answer() -> None:
        try:
            replies.put((_returned(effect), None))
        except (Exception, SystemExit) as raised:
            replies.put((None, raised))

    threading.Thread(target=answer, daemon=True).start()
    try:
        returned, raised = replies.get(timeout=effect.timeout_seconds)
    except queue.Empty:
        raise effect.late() from None
    if raised is not None:
        raise raised
    return returned


def _returned(effect: Invoke) -> object:
    """The function's result. A result that must be awaited gets an event loop of its own."""

    async def awaited() -> object:
        return await cast("Awaitable[object]", returned)

    try:
        returned = effect.called()
        return asyncio.run(awaited()) if inspect.isawaitable(returned) else returned
    except asyncio.CancelledError as cancelled:
        raise effect.cancelled(cancelled) from cancelled


def _take(turns: Turns, most: int) -> None:
    begun = threading.Event()
    if turns.take_or_wait(most, begun.set):
        return
    try:
        begun.wait()
    except BaseException:
        turns.give_up(begun.set)
        raise


def _blocking(flow: Callable[Concatenate[C, P], Flow[T]]) -> Callable[Concatenate[_Driver[C], P], T]:
    """A method that drives a flow to its end."""

    @functools.wraps(flow)
    def method(self: _Driver[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._drive(flow(self._context, *args, **kwargs))  # pyright: ignore[reportPrivateUsage]

    return method


def _iterating(stream: Callable[Concatenate[C, P], Stream[T]]) -> Callable[Concatenate[_Driver[C], P], Iterator[T]]:
    """A method that iterates over the values that a flow hands out."""

    @functools.wraps(stream)
    def method(self: _Driver[C], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self._iterate(stream(self._context, *args, **kwargs))  # pyright: ignore[reportPrivateUsage]

    return method


class Client(_Driver[Session]):
    """A client for one service with one credential. Close it, or use it in a `with`.

    `base_url` is the service's address, such as `http://127.0.0.1:8080`; a path in it is kept. `http` is your own httpx client,
    for proxies and certificates; it is not closed here.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        retry: Retry | None = None,
        timeout_seconds: float = 30.0,
        http: httpx.Client | None = None,
    ) -> None:
        session = Session(base_url, api_key, retry or Retry(), timeout_seconds)
        super().__init__(session, session, http or httpx.Client())
        self._is_own = http is None

    run = _blocking(_run.run)
    submit = _blocking(_jobs.submit)
    detail = _blocking(_jobs.detail)
    result = _blocking(_jobs.result)
    wait = _blocking(_jobs.wait)
    cancel = _blocking(_jobs.cancel)
    replay = _blocking(_jobs.replay)
    follow = _iterating(_follow.follow)
    jobs = _iterating(_jobs.jobs)
    verify = _blocking(_record.verify)
    upload = _blocking(_jobs.upload)
    submit_grading = _blocking(_gradings.submit_grading)
    grading = _blocking(_gradings.grading)
    gradings = _iterating(_gradings.gradings)
    wait_for_grading = _blocking(_gradings.wait_for_grading)
    grading_events = _iterating(_gradings.grading_events)
    cancel_grading = _blocking(_gradings.cancel_grading)
    download = _blocking(_jobs.download)
    attestation = _blocking(_jobs.attestation)
    result_artifact = _blocking(_jobs.result_artifact)
    log_proof = _blocking(_jobs.log_proof)
    promise = _blocking(_jobs.promise)
    pending = _blocking(_jobs.pending)
    canary = _blocking(_jobs.canary)
    tool_calls = _blocking(_tools.tool_calls)
    answer_tool_call = _blocking(_tools.answer_tool_call)
    answer_tool_calls = _blocking(_answering.answer_tool_calls)
    sessions = _blocking(_sessions.sessions)
    remove_session = _blocking(_sessions.remove_session)
    create_link = _blocking(_links.create_link)
    links = _blocking(_links.links)
    revoke_link = _blocking(_links.revoke_link)
    public_key = _blocking(_jobs.public_key)
    grade = _blocking(_grade.grade)
    capabilities = _blocking(_jobs.capabilities)
    whoami = _blocking(_jobs.whoami)

    @property
    def runs(self) -> Turns:
        """How many runs of this client are `open` at the service, and how many are `waiting` for their turn."""
        return self._session.runs

    def workspace(self) -> Workspace:
        """An empty workspace: files that stay between runs."""
        return Workspace(WorkspaceState(self._session), self._session, self._http)

    def session(self, name: str | None = None, *, language: str | None = None) -> ProgramSession:
        """The existing session with this name, or a new session. Each of its programs begins with the variables and files that
        the previous program left. If no name is given, a new name is chosen. All steps have the `language`: by default that of
        the existing session, otherwise `python`."""
        return ProgramSession(self._drive(_sessions.open_session(self._session, name, language)), self._session, self._http)

    def close(self) -> None:
        """Closes the connections."""
        if self._is_own:
            self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._session.base_url!r})"


class Workspace(_Driver[WorkspaceState], WorkspaceFiles):
    """A workspace: files that stay between runs. Make one with `Client.workspace`."""

    run = _blocking(_workspace.run_step)
    verify = _blocking(_workspace.verify_steps)


class ProgramSession(_Driver[SessionState]):
    """A session. Open one with `Client.session`."""

    run = _blocking(_sessions.run_step)
    remove = _blocking(_sessions.remove)

    @property
    def name(self) -> str:
        """The session's name. It opens the session again later."""
        return self._context.name

    @property
    def last_job(self) -> str | None:
        """The last step. The next step begins with its state. None before the first step."""
        return self._context.last_job
