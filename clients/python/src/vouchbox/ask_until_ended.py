"""Waits for the end of a job or a grading at the service. The service holds each request for a while."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from .backoff import delay_seconds
from .contract import WAIT_SECONDS_MAX
from .effects import Flow, Pause
from .failures import TransportFailure
from .session import Session, accepted

WAIT_SECONDS = 50.0
"""How long one request waits at most: many proxies cut an exchange at 60 seconds."""

Found = TypeVar("Found")


def ask_until_ended(
    session: Session,
    id_: str,
    ask: Callable[[Session, float], Flow[Found]],
    has_ended: Callable[[Found], bool],
    timeout_seconds: float | None,
) -> Flow[Found]:
    """Asks again and again, each time with the seconds that the service may wait. Without time, it asks once.

    Raises `TransportFailure` with the reason `timeout`, about `id_`, once `timeout_seconds` are over.
    """
    end = math.inf if timeout_seconds is None else time.monotonic() + timeout_seconds
    if timeout_seconds is None or timeout_seconds > 0:
        asking = replace(accepted(session), deadline=end)
    else:
        asking = replace(session, retry=replace(session.retry, attempts_max=1))
    expired = 0
    while True:
        left = max(0.0, end - time.monotonic())
        found = yield from ask(asking, round(min(WAIT_SECONDS, left, WAIT_SECONDS_MAX), 3))
        if has_ended(found):
            return found
        left = end - time.monotonic()
        if not left > 0:
            raise TransportFailure("timeout", f"{id_} has not ended after {timeout_seconds} s")
        expired += 1
        # A random pause after an expired wait keeps many clients from asking in step.
        yield Pause(min(left, delay_seconds(session.retry, expired)))
