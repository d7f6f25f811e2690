"""The client for asyncio: it carries out the effects of a flow one after the other, and awaits each."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

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
from .effects import Answer, Begin, Call, Effect, Emit, Flow, Invoke, Pause, Request, Send, Stream, TakeTurn, advance
from .program_session import SessionState
from .session import Session
from .transport import Gathering, arguments_of
from .turns import Turns
from .workspace import WorkspaceState
from .workspace_files import WorkspaceFiles

C = TypeVar("C")
T = TypeVar("T")
P = ParamSpec("P")

_putting_right: set[asyncio.Task[Any]] = set()
"""Flows that are still ending after their task was cancelled. An event loop has only weak references to its tasks."""


class _Driver(Generic[C]):
    """Carries out the effects of flows that work on a C."""

    def __init__(self, context: C, session: Session, http: httpx.AsyncClient) -> None:
        self._context = context
        self._session = session
        self._http = http

    async def _drive(self, flow: Flow[T], failure: BaseException | None = None) -> T:
        reply: object = None
        while True:
            try:
                effect = advance(flow, reply, failure)
            except StopIteration as end:
                return end.value
            reply, failure = await self._attempt(effect)
            if isinstance(failure, asyncio.CancelledError):
                return await self._put_right(flow, failure)

    async def _put_right(self, flow: Flow[T], failure: BaseException) -> T:
        """Lets a cancelled flow end in a task of its own, where a second cancellation cannot reach it."""
        task = asyncio.create_task(self._drive(flow, failure))
        _putting_right.add(task)
        task.add_done_callback(_putting_right.discard)
        return await asyncio.shield(task)

    async def _iterate(self, stream: Stream[T]) -> AsyncIterator[T]:
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
                    reply, failure = await self._attempt(effect)
        finally:
            stream.close()

    async def _attempt(self, effect: Effect) -> tuple[object, BaseException | None]:
        """The reply to an effect, or the error. A cancellation also counts as an error: the flow may have a job to cancel.
        """
        try:
            return await self._carry_out(effect), None
        except BaseException as failure:
            return None, failure

    async def _carry_out(self, effect: Effect) -> object:
        match effect:
            case Send(request):
                # httpx's network library (anyio 3.6) may leave the task that connects marked as cancelled. In the caller's task,
                # `asyncio.timeout` would then miss its own cancellation, so the exchange has its own task.
                return await asyncio.create_task(self._exchange(request))
            case Pause(seconds):
                return await asyncio.sleep(seconds)
            case TakeTurn(turns, most):
                return await _take(turns, most)
            case Call(function, about):
                returned = function(about)
                return await cast("Awaitable[object]", returned) if inspect.isawaitable(returned) else returned
            case Invoke():
                deadline = asyncio.timeout(effect.timeout_seconds)
                try:
                    async with deadline:
                        return await _invoked(effect)
                except TimeoutError as late:
                    raise (effect.late() if deadline.expired() else late) from None
            case Begin(flow):
                return asyncio.create_task(self._drive(flow))

    async def _exchange(self, request: Request) -> Answer:
        gathering = Gathering(self._session, request)
        try:
            async with self._http.stream(**arguments_of(self._session, request)) as response:
                gathering.begin(response)
                async for chunk in response.aiter_bytes():
                    gathering.add(chunk)
            return gathering.answer()
        except httpx.HTTPError as error:
            raise gathering.failure(error) from error


async def _invoked(effect: Invoke) -> object:
    """Returns what the function returns. A function may take long, so it is called in a thread unless it is a coroutine."""
    try:
        if inspect.iscoroutinefunction(effect.function):
            return await cast("Awaitable[object]", effect.called())
        returned = await _in_thread(effect.called)
        return await cast("Awaitable[object]", returned) if inspect.isawaitable(returned) else returned
    except asyncio.CancelledError as cancelled:
        task = asyncio.current_task()
        if task is None or task.cancelling() > 0:
            raise
        raise effect.cancelled(cancelled) from cancelled


async def _in_thread(function: Callable[[], object]) -> object:
    """Calls a function in a thread. A function that hangs delays neither the end of the loop nor the end of the process."""
    loop = asyncio.get_running_loop()
    reply: asyncio.Future[tuple[object, BaseException | None]] = loop.create_future()

    def settle(returned: object, raised: BaseException | None) -> None:
        if not reply.done():
            reply.set_result((returned, raised))

    def work() -> None:
        try:
            settled = (function(), None)
        except BaseException as raised:
            settled = (None, raised)
        with contextlib.suppress(RuntimeError):  # The loop has been closed.
            loop.call_soon_threadsafe(settle, *settled)

    threading.Thread(target=work, daemon=True).start()
    returned, raised = await reply
    if raised is not None:
        raise raised
    return returned


async def _take(turns: Turns, most: int) -> None:
    loop = asyncio.get_running_loop()
    begun: asyncio.Future[None] = loop.create_future()

    def begin() -> None:
        loop.call_soon_threadsafe(lambda: begun.done() or begun.set_result(None))

    if turns.take_or_wait(most, begin):
        return
    try:
        await begun
    except BaseException:
        turns.give_up(begin)
        raise


def _awaiting(
    flow: Callable[Concatenate[C, P], Flow[T]],
) -> Callable[Concatenate[_Driver[C], P], Coroutine[Any, Any, T]]:
    """A method that drives a flow to its end."""

    @functools.wraps(flow)
    async def method(self: _Driver[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._drive(flow(self._context, *args, **kwargs))  # pyright: ignore[reportPrivateUsage]

    return method


def _iterating(
    stream: Callable[Concatenate[C, P], Stream[T]],
) -> Callable[Concatenate[_Driver[C], P], AsyncIterator[T]]:
    """A method that iterates over the values that a flow hands out."""

    @functools.wraps(stream)
    def method(self: _Driver[C], /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return self._iterate(stream(self._context, *args, **kwargs))  # pyright: ignore[reportPrivateUsage]

    return method


class AsyncClient(_Driver[Session]):
    """A client for one service with one credential. Close it, or use it in an `async with`.

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
        http: httpx.AsyncClient | None = None,
    ) -> None:
        session = Session(base_url, api_key, retry or Retry(), timeout_seconds)
        super().__init__(session, session, http or httpx.AsyncClient())
        self._is_own = http is None

    run = _awaiting(_run.run)
    submit = _awaiting(_jobs.submit)
    detail = _awaiting(_jobs.detail)
    result = _awaiting(_jobs.result)
    wait = _awaiting(_jobs.wait)
    cancel = _awaiting(_jobs.cancel)
    replay = _awaiting(_jobs.replay)
    follow = _iterating(_follow.follow)
    jobs = _iterating(_jobs.jobs)
    verify = _awaiting(_record.verify)
    upload = _awaiting(_jobs.upload)
    submit_grading = _awaiting(_gradings.submit_grading)
    grading = _awaiting(_gradings.grading)
    gradings = _iterating(_gradings.gradings)
    wait_for_grading = _awaiting(_gradings.wait_for_grading)
    grading_events = _iterating(_gradings.grading_events)
    cancel_grading = _awaiting(_gradings.cancel_grading)
    download = _awaiting(_jobs.download)
    attestation = _awaiting(_jobs.attestation)
    result_artifact = _awaiting(_jobs.result_artifact)
    log_proof = _awaiting(_jobs.log_proof)
    promise = _awaiting(_jobs.promise)
    pending = _awaiting(_jobs.pending)
    canary = _awaiting(_jobs.canary)
    tool_calls = _awaiting(_tools.tool_calls)
    answer_tool_call = _awaiting(_tools.answer_tool_call)
    answer_tool_calls = _awaiting(_answering.answer_tool_calls)
    sessions = _awaiting(_sessions.sessions)
    remove_session = _awaiting(_sessions.remove_session)
    create_link = _awaiting(_links.create_link)
    links = _awaiting(_links.links)
    revoke_link = _awaiting(_links.revoke_link)
    public_key = _awaiting(_jobs.public_key)
    grade = _awaiting(_grade.grade)
    capabilities = _awaiting(_jobs.capabilities)
    whoami = _awaiting(_jobs.whoami)

    @property
    def runs(self) -> Turns:
        """How many runs of this client are `open` at the service, and how many are `waiting` for their turn."""
        return self._session.runs

    def workspace(self) -> AsyncWorkspace:
        """An empty workspace: files that stay between runs."""
        return AsyncWorkspace(WorkspaceState(self._session), self._session, self._http)

    async def session(self, name: str | None = None, *, language: str | None = None) -> AsyncProgramSession:
        """The existing session with this name, or a new session. Each of its programs begins with the variables and files that
        the previous program left. If no name is given, a new name is chosen. All steps have the `language`: by default that of
        the existing session, otherwise `python`."""
        state = await self._drive(_sessions.open_session(self._session, name, language))
        return AsyncProgramSession(state, self._session, self._http)

    async def close(self) -> None:
        """Closes the connections."""
        if self._is_own:
            await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self._session.base_url!r})"


class AsyncWorkspace(_Driver[WorkspaceState], WorkspaceFiles):
    """A workspace: files that stay between runs. Make one with `AsyncClient.workspace`."""

    run = _awaiting(_workspace.run_step)
    verify = _awaiting(_workspace.verify_steps)


class AsyncProgramSession(_Driver[SessionState]):
    """A session. Open one with `AsyncClient.session`."""

    run = _awaiting(_sessions.run_step)
    remove = _awaiting(_sessions.remove)

    @property
    def name(self) -> str:
        """The session's name. It opens the session again later."""
        return self._context.name

    @property
    def last_job(self) -> str | None:
        """The last step. The next step begins with its state. None before the first step."""
        return self._context.last_job
