"""Answers a job's tool calls, either with the caller's functions or from the history of an earlier run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from .contract import Event
from .effects import Begin, Flow, Running, TakeTurn
from .follow import Follower
from .replay import ToolReplay
from .session import Session, accepted
from .tools import Approve, ToolRunner, Tools
from .turns import Turns


def answering_for(
    session: Session,
    job_id: str,
    *,
    is_replayed: bool,
    tools: Tools | None,
    approve: Approve | None,
    tools_at_once: int,
    replay: Sequence[Event] | None,
    break_off: Callable[[], Flow[None]],
) -> ToolRunner | ToolReplay:
    """`break_off` is called when an error ends the answering. It tells the flow that follows the job about the error."""
    if replay is not None:
        return ToolReplay(accepted(session), job_id, replay)
    return ToolRunner(accepted(session), job_id, is_replayed, tools or {}, approve, tools_at_once, break_off)


def answer_tool_calls(
    session: Session,
    job_id: str,
    *,
    tools: Tools | None = None,
    approve: Approve | None = None,
    tools_at_once: int = 16,
    replay: Sequence[Event] | None = None,
) -> Flow[None]:
    """Answers each open call of a submitted job until the job has ended. The answers come from functions or from a history.

    The credential must belong to the principal that submitted the job, or to one of the job's `tool_principals`. Calls of other
    tools stay open. An error from `approve` is raised here, and the job and the call stay as they are.
    """
    over = Turns()
    yield TakeTurn(over, 1)

    def leave() -> Flow[None]:
        over.pass_on()
        yield from ()

    answering = answering_for(
        session,
        job_id,
        is_replayed=True,
        tools=tools,
        approve=approve,
        tools_at_once=tools_at_once,
        replay=replay,
        break_off=leave,
    )
    running = yield Begin(_follow(Follower(session, job_id), answering, over))
    try:
        yield TakeTurn(over, 1)
    finally:
        answering.end()
        cast("Running", running).cancel()
    if answering.failure is not None:
        raise answering.failure


def _follow(follower: Follower, answering: ToolRunner | ToolReplay, over: Turns) -> Flow[None]:
    try:
        while not answering.is_over and (events := (yield from follower.next_events())):
            for event in events:
                yield from answering.take(event)
    except Exception as failure:
        answering.failure = answering.failure or failure
    over.pass_on()
