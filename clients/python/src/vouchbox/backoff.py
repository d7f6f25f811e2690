"""Decides when to try again: bounded exponential backoff with full jitter, and never sooner than the service asks."""

from __future__ import annotations

import random
from dataclasses import dataclass

import httpx

from .failures import ServiceFailure, TransportFailure, VouchboxError


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how soon a request is repeated."""

    attempts_max: int = 5
    """The number of tries, including the first. With 1, nothing is repeated."""
    base_seconds: float = 0.2
    """The upper bound of the first delay. The bound doubles with each further delay."""
    cap_seconds: float = 10.0
    retry_after_seconds_max: int = 60
    """A `Retry-After` beyond this ends the tries: the caller gets the refusal at once."""
    patience_seconds: float = 600.0
    """How long all pauses of one request may take together while the service says when to come back, because the budget is spent
    or the service is full. Such pauses do not count as tries, because nothing failed. For work that the service has accepted,
    this is also how long the service may be lost."""
    bears_loss: bool = False
    """Whether every request tolerates a lost service for `patience_seconds`. By default, only waits for accepted work do, because
    the service continues such work after a restart. With True, other requests take that long to report a wrong address."""

    def __post_init__(self) -> None:
        """Raises ValueError for a number below 0 and for NaN, because tries might then never end."""
        for name in ("attempts_max", "base_seconds", "cap_seconds", "retry_after_seconds_max", "patience_seconds"):
            value = getattr(self, name)
            if not value >= 0:
                raise ValueError(f"{name} is {value}; give a number from 0")


def _asked_seconds(failure: VouchboxError | None) -> int:
    is_answered = isinstance(failure, ServiceFailure | TransportFailure)
    return (failure.retry_after_seconds or 0) if is_answered else 0


def delay_seconds(retry: Retry, tries: int, failure: VouchboxError | None = None) -> float:
    """Seconds until the next try, after `tries` tries have failed.

    Callers that were refused together must not return together, so they spread out after the time that the service named.
    """
    asked = _asked_seconds(failure)
    ceiling = min(retry.cap_seconds, retry.base_seconds * 2 ** min(tries - 1, 32))
    return asked + random.random() * max(ceiling, min(asked * tries, asked + retry.cap_seconds))


def is_worth_retrying(retry: Retry, failure: VouchboxError) -> bool:
    """Whether a repeated request may succeed. False for 404 and 409: waiting for a job's state is up to the caller."""
    if _asked_seconds(failure) > retry.retry_after_seconds_max:
        return False
    if isinstance(failure, ServiceFailure):
        return failure.retryable and failure.status not in (404, 409)
    if not isinstance(failure, TransportFailure):
        return False
    if failure.reason == "unstructured":
        return failure.status in (429, 502, 503, 504)
    return failure.reason in ("network", "timeout", "truncated")


def is_put_off(failure: ServiceFailure | TransportFailure) -> bool:
    """Whether the service, or a proxy in front of it, said when there will be room. Such a refusal is a wait, not a failure."""
    return failure.retry_after_seconds is not None and failure.status in (429, 503)


def is_away(error: BaseException) -> bool:
    """Whether no service answers, for example while it restarts. Also true once the `timeout_seconds` of a wait are over."""
    is_lost = isinstance(error, TransportFailure) and error.reason in ("network", "timeout")
    return is_lost or (isinstance(error, ServiceFailure | TransportFailure) and error.status in (502, 503, 504))


def may_have_arrived(failure: ServiceFailure | TransportFailure) -> bool:
    """Whether a failed request may have arrived. False if the service refused the request or no connection was made."""
    is_unconnected = isinstance(failure.__cause__, httpx.ConnectError | httpx.ConnectTimeout)
    return isinstance(failure, TransportFailure) and not is_unconnected
