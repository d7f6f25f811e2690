"""What a flow asks from the code that drives it.

Everything that the client does is written once, as generators that do no input or output. They yield effects: a request to send,
a pause, a turn to wait for, a callback to call, a value to hand out. `client.py` waits for each effect, and `async_client.py`
awaits it. Both send the result back to the flow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

from .turns import Turns

T = TypeVar("T")
Raised: TypeAlias = Exception | SystemExit
"""Errors that a caller's function itself raises, unlike an interruption or a cancellation."""


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. `path` is absolute and includes the query."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    wait_seconds: float = 0.0
    """How long the service was asked to wait. The answer may take that much longer."""
    within_seconds: float = math.inf
    """The exchange fails if it makes no progress for this many seconds, even if the client would wait longer. It also fails if a
    part of the body comes more than this many seconds after the exchange began."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole answer. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request. The reply is its `Answer`. If no whole answer comes, a `TransportFailure` is raised in the flow."""

    request: Request


@dataclass(frozen=True, slots=True)
class Pause:
    """Do nothing for a while."""

    seconds: float


@dataclass(frozen=True, slots=True)
class TakeTurn:
    """Wait until fewer than `most` turns are taken, then take a turn. The flow later passes the turn on."""

    turns: Turns
    most: int


@dataclass(frozen=True, slots=True)
class Call:
    """Call one of the caller's functions. The reply is what the function returns. What it raises is raised in the flow."""

    function: Callable[[Any], object]
    about: object


@dataclass(frozen=True, slots=True)
class Invoke:
    """Call one of the caller's functions that may take long. An object gives arguments by name; any other value is the argument.

    The reply is what the function returns. What it raises is raised in the flow, and so is TimeoutError after `timeout_seconds`.
    """

    function: Callable[..., object]
    arguments: object
    timeout_seconds: float | None

    def called(self) -> object:
        """Calls the function and returns the function's result."""
        given = self.arguments
        return self.function(**cast("dict[str, object]", given)) if isinstance(given, dict) else self.function(given)

    def cancelled(self, raised: BaseException) -> RuntimeError:
        """The error to raise if the function was cancelled and the flow was not."""
        return RuntimeError(str(raised) or "the tool was cancelled")

    def late(self) -> TimeoutError:
        """The error to raise once the time is over."""
        return TimeoutError(f"the tool took longer than {self.timeout_seconds} s")


class Running(Protocol):
    """A flow that has begun."""

    def cancel(self) -> object:
        """Ends the flow where it waits, if it can be ended there."""
        ...


@dataclass(frozen=True, slots=True)
class Begin:
    """Begin another flow. It runs beside this flow and must not raise anything. The reply is `Running`."""

    flow: Flow[None]


@dataclass(frozen=True, slots=True)
class Emit(Generic[T]):
    """Hand a value to the code that iterates over the flow."""

    value: T


Effect: TypeAlias = Send | Pause | TakeTurn | Call | Invoke | Begin
Flow: TypeAlias = Generator[Effect, object, T]
"""A flow that returns a T."""
Stream: TypeAlias = Generator[Effect | Emit[T], object, None]
"""A flow that hands out values of type T."""


def send(request: Request) -> Flow[Answer]:
    """Sends a request once and returns its whole answer, whatever the status is."""
    answer = yield Send(request)
    assert isinstance(answer, Answer), "a driver answers Send with an Answer"
    return answer


def advance(flow: Generator[T, object, object], reply: object, failure: BaseException | None) -> T:
    """Gives a flow the reply to its last effect, or the error. Returns the flow's next effect.

    When the flow returns, raises StopIteration with its value. Whatever the flow raises is raised here too.
    """
    return flow.send(reply) if failure is None else flow.throw(failure)
