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
"""The longest that one request waits: many proxies cut an exchange off at 60 seconds."""

Found = TypeVar("Found")


def ask_until_ended(
    session: Session,
    id_: str,
    ask: Callable[[Session, float], Flow[Found]],
    has_ended: Callable[[Found], bool],
    timeout_seconds: float | None,
) -> Flow[Found]:
    """Asks again and again, and each time says how long the service may wait. If no time is left, it asks once.

    Once `timeout_seconds` are over, raises `TransportFailure` about `id_` with the reason `timeout`.
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
        # After an expired wait, a random pause keeps many clients from asking at the same moment.
        yield Pause(min(left, delay_seconds(session.retry, expired)))
