"""One service and one credential, and calls to it: each is repeated where that is safe, and answered with a body or an error."""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

from .answer_check import check_answer, check_features
from .backoff import Retry, delay_seconds, is_worth_retrying
from .effects import Answer, Flow, Pause, Request, send
from .failures import FAILURES_BY_CODE, ServiceFailure, TransportFailure
from .strict_json import parse_strict


@dataclass(slots=True)
class Session:
    """What every flow needs to know."""

    base_url: str
    api_key: str = field(repr=False)
    retry: Retry
    timeout_seconds: float
    """Seconds without any progress after which an exchange fails, beside the wait that the service was asked for."""
    features: frozenset[str] | None = None
    """What the service can do, once it was asked."""

    def __post_init__(self) -> None:
        self.base_url = _checked_base_url(self.base_url)
        if not self.api_key or not all("!" <= character <= "~" for character in self.api_key):
            raise ValueError("api_key must be visible ASCII text, as it is sent in a header")


def _checked_base_url(base_url: str) -> str:
    """The address without its last slash. One that cannot be right is refused here and not after five tries."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"base_url must begin with http:// or https:// and a host, and is {base_url!r}")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("base_url must have no user, no query and no fragment")
    _ = parts.port  # Raises ValueError for a malformed port.
    return base_url.rstrip("/")


def job_path(job_id: str, rest: str = "", **query: str | float | None) -> str:
    """The path of a job. Parts of the query that are None are left out."""
    return path_of(f"/v1/jobs/{quote(job_id, safe='')}{rest}", **query)


def path_of(path: str, **query: str | float | None) -> str:
    """A path with its query."""
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def exchange(request: Request) -> Flow[Answer]:
    """Sends a request once. Anything but success is raised."""
    answer = yield from send(request)
    if 200 <= answer.status < 300:
        return answer
    raise _refusal(answer)


def call(session: Session, request: Request) -> Flow[Answer]:
    """Sends a request that may be repeated, until it succeeds, fails for good or has no tries left."""
    for tries in count(1):
        try:
            return (yield from exchange(request))
        except (ServiceFailure, TransportFailure) as failure:
            if tries >= session.retry.attempts_max or not is_worth_retrying(session.retry, failure):
                raise
            delay = delay_seconds(session.retry, tries, failure)
        yield Pause(delay)
    raise AssertionError("count never ends")


def read(
    session: Session, path: str, *, route: str | None = None, job_id: str | None = None, wait_seconds: float = 0.0
) -> Flow[dict[str, Any]]:
    """Reads a JSON object, in the form of the answers of `route` and about the job if it is of one."""
    request = Request("GET", path, {"accept": "application/json"}, wait_seconds=wait_seconds)
    body = decode((yield from call(session, request)))
    if route is not None:
        check_answer(route, body, job_id)
    return body


def decode(answer: Answer) -> dict[str, Any]:
    """The JSON object of an answer."""
    try:
        value = parse_strict(answer.body)
    except ValueError as error:
        raise TransportFailure("undecodable", f"the answer is not JSON: {error}", status=answer.status) from error
    if not isinstance(value, dict):
        raise TransportFailure("undecodable", "the answer is not a JSON object", status=answer.status)
    return cast("dict[str, Any]", value)


def supports(session: Session, feature: str) -> Flow[bool]:
    """Whether the service names a feature. It is asked once. A credential that may not ask uses none."""
    if session.features is None:
        try:
            body = yield from read(session, "/v1/capabilities")
            check_features(body)
            session.features = frozenset(str(name) for name in body.get("features", []))
        except ServiceFailure as failure:
            if failure.status != 403:
                raise
            session.features = frozenset()
    return feature in session.features


def _refusal(answer: Answer) -> ServiceFailure | TransportFailure:
    retry_after_seconds = _seconds_of(answer.headers.get("retry-after"))
    error = _envelope_of(answer.body)
    if error is None:
        return TransportFailure(
            "unstructured",
            f"HTTP {answer.status} without an error of the service: is base_url the address of one?",
            status=answer.status,
            retry_after_seconds=retry_after_seconds,
        )
    code = str(error["code"])
    return FAILURES_BY_CODE.get(code, ServiceFailure)(
        str(error["message"]),
        code=code,
        status=answer.status,
        retryable=error.get("retryable") is True,
        request_id=answer.headers.get("x-request-id"),
        retry_after_seconds=retry_after_seconds,
    )


def _envelope_of(body: bytes) -> Mapping[str, Any] | None:
    try:
        value = json.loads(body)
        error = value["error"]
        return cast("Mapping[str, Any]", error) if {"code", "message"} <= error.keys() else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _seconds_of(header: str | None) -> int | None:
    """Whole seconds, or a date as a proxy may send, from now. RFC 9110 § 10.2.3."""
    if header is None:
        return None
    if header.isascii() and header.isdigit():
        return int(header[:9])
    try:
        return max(0, round(email.utils.parsedate_to_datetime(header).timestamp() - time.time()))
    except ValueError:
        return None
