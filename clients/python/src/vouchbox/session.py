"""One service with one credential, and the calls to it. A call gives a body or an error, and is repeated if that is safe."""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

from .answer_check import check_answer, check_facts
from .backoff import Retry, delay_seconds, is_away, is_put_off, is_worth_retrying, may_have_arrived
from .canonical_json import sha256_hex
from .effects import Answer, Flow, Pause, Request, TakeTurn, send
from .failures import FAILURES_BY_CODE, ServiceFailure, TransportFailure
from .outcome import ExactBytes
from .strict_json import parse_strict
from .turns import Turns

_END_SECONDS = 5.0
_TIMEOUT_SECONDS_MAX = 24 * 86_400.0
"""The longest timeout. Sockets cannot wait much longer."""


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """The part of a service's own description that calls depend on."""

    features: frozenset[str] = frozenset()
    runs_max: int | None = None
    """How many runs one tenant may have open; None if the service does not say."""


@dataclass(slots=True)
class Asking:
    """Callers that need the service's own description. One of them requests it, and the others wait for its answer."""

    turn: Turns = field(default_factory=Turns)
    failures: int = 0
    failure: ServiceFailure | TransportFailure | None = None
    """The last failure."""


@dataclass(slots=True)
class Session:
    """What every flow needs to know."""

    base_url: str
    api_key: str = field(repr=False)
    retry: Retry
    timeout_seconds: float
    """An exchange fails after this many seconds without progress. A wait that was requested from the service does not count."""
    facts: ServiceFacts | None = None
    """What the service says about itself, once it was asked."""
    said: Answer | None = None
    """The last whole answer about the service itself."""
    asking: tuple[Asking, Asking] = field(default_factory=lambda: (Asking(), Asking()))
    """The first for callers that give up on a lost service, the second for others. They wait apart: their patience differs."""
    runs: Turns = field(default_factory=Turns)
    tenant: str | None = None
    """The credential's tenant. It is known once a promise was checked."""
    highest_number: int = 0
    """The largest job number that was promised to this client."""
    deadline: float = math.inf
    """The time on the monotonic clock at which every try and every pause ends."""

    def __post_init__(self) -> None:
        self.base_url = _checked_base_url(self.base_url)
        self.timeout_seconds = min(self.timeout_seconds, _TIMEOUT_SECONDS_MAX)
        if not self.api_key or not all("!" <= character <= "~" for character in self.api_key):
            raise ValueError("api_key must be visible ASCII text, as it is sent in a header")


def accepted(session: Session) -> Session:
    """The session for requests about work that the service has accepted."""
    return replace(session, retry=replace(session.retry, bears_loss=True))


def _checked_base_url(base_url: str) -> str:
    """The address without a slash at its end. An address that cannot be right is refused at once, not after five tries."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"base_url must begin with http:// or https:// and a host, and is {base_url!r}")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("base_url must have no user, no query and no fragment")
    _ = parts.port  # Raises ValueError for a malformed port.
    return base_url.rstrip("/")


def job_path(job_id: str, rest: str = "", **query: str | float | None) -> str:
    """The path of a job. Query parameters that are None are left out."""
    return path_of(f"/v1/jobs/{part_of_path(job_id)}{rest}", **query)


def part_of_path(name: str) -> str:
    """A name or an id as one part of a path. Raises ValueError for `.` and `..`, which an address would drop."""
    if name in (".", ".."):
        raise ValueError(f"{name!r} is no name and no id")
    return quote(name, safe="")


def path_of(path: str, **query: str | float | None) -> str:
    """A path with its query."""
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def exchange(request: Request) -> Flow[Answer]:
    """Sends a request once. Accepts a success, or a 304 if the request named the caller's copy. Otherwise raises."""
    answer = yield from send(request)
    if 200 <= answer.status < 300 or (answer.status == 304 and "if-none-match" in request.headers):
        return answer
    raise _refusal(answer)


def exchange_soon(request: Request) -> Flow[Answer]:
    """Sends a request that ends work, only once. Nobody waits for the answer, so it must not hold up the caller."""
    return (yield from exchange(replace(request, within_seconds=_END_SECONDS)))


def call(session: Session, request: Request) -> Flow[Answer]:
    """Sends a request that may be repeated. Stops when it succeeds or fails for good, or when no tries or no patience is left."""
    retry = session.retry
    tries, losses, puttings_off = 0, 0, 0
    lost, waited = 0.0, 0.0
    is_kept = retry.bears_loss
    # A submission that waits for its result may be accepted long before its answer comes.
    is_waiting = request.wait_seconds > 0 and "idempotency-key" in request.headers
    while True:
        began = time.monotonic()
        try:
            return (yield from exchange(replace(request, within_seconds=max(0.001, session.deadline - began))))
        except (ServiceFailure, TransportFailure) as failure:
            if retry.attempts_max == 1 or not is_worth_retrying(retry, failure):
                raise
            is_kept = is_kept or (is_waiting and may_have_arrived(failure))
            is_lost = is_kept and is_away(failure) and not is_put_off(failure)
            if is_lost:
                # The duration of the first failed request does not count: the service may have been there and held the request.
                lost += 0.0 if losses == 0 else time.monotonic() - began
                losses += 1
                delay = delay_seconds(retry, losses, failure)
                lost += delay
                is_over = lost > retry.patience_seconds and losses >= retry.attempts_max
            elif is_put_off(failure):
                puttings_off += 1
                delay = delay_seconds(retry, puttings_off, failure)
                waited += delay
                is_over = waited > retry.patience_seconds
            else:
                tries += 1
                delay = delay_seconds(retry, tries, failure)
                is_over = tries >= retry.attempts_max
            if is_over:
                raise
            if not is_lost:  # Any answer ends the loss.
                losses, lost = 0, 0.0
            left = session.deadline - time.monotonic()
            if delay >= left:
                yield Pause(max(0.0, left))
                message = f"no answer within the time of the wait to {request.method} {request.path.split('?')[0]}"
                raise TransportFailure("timeout", message) from failure
        yield Pause(delay)


def read(
    session: Session, path: str, *, route: str | None = None, job_id: str | None = None, wait_seconds: float = 0.0
) -> Flow[dict[str, Any]]:
    """Reads a JSON object. It must have the form that answers of `route` have, and be about the route's job, if any."""
    request = Request("GET", path, {"accept": "application/json"}, wait_seconds=wait_seconds)
    body = decode((yield from call(session, request)))
    if route is not None:
        check_answer(route, body, job_id)
    return body


def exact_bytes(session: Session, path: str, *, wait_seconds: float = 0.0) -> Flow[ExactBytes]:
    """Reads bytes as they are stored. A missing, malformed or wrong `X-Content-Sha256` is refused."""
    answer = yield from call(session, Request("GET", path, {"accept": "*/*"}, wait_seconds=wait_seconds))
    declared = answer.headers.get("x-content-sha256", "")
    if not re.fullmatch("[0-9a-f]{64}", declared):
        raise TransportFailure("digest", "X-Content-Sha256 is missing or malformed")
    if sha256_hex(answer.body) != declared:
        raise TransportFailure("digest", "X-Content-Sha256 does not match the bytes")
    return ExactBytes(data=answer.body, sha256=declared, media_type=answer.headers.get("content-type", ""))


def decode(answer: Answer) -> dict[str, Any]:
    """The JSON object in an answer."""
    try:
        value = parse_strict(answer.body)
    except ValueError as error:
        raise TransportFailure("undecodable", f"the answer is not JSON: {error}", status=answer.status) from error
    if not isinstance(value, dict):
        raise TransportFailure("undecodable", "the answer is not a JSON object", status=answer.status)
    return cast("dict[str, Any]", value)


def supports(session: Session, feature: str) -> Flow[bool]:
    """Whether the service names a feature."""
    return feature in (yield from facts_of(session)).features


def facts_of(session: Session) -> Flow[ServiceFacts]:
    """What the service says about itself, which is requested once. If the credential may not request it, nothing is known."""
    if session.facts is None:
        asking = session.asking[session.retry.bears_loss]
        before = asking.failures
        yield TakeTurn(asking.turn, 1)
        try:
            # A request that failed while this caller waited counts as this caller's failure.
            if session.facts is None and asking.failure and asking.failures > before:
                raise asking.failure.with_traceback(None)
            if session.facts is None:
                session.facts = yield from _asked_by(session, asking)
        finally:
            asking.turn.pass_on()
    return session.facts


def _asked_by(session: Session, asking: Asking) -> Flow[ServiceFacts]:
    try:
        return (yield from _asked(session))
    except (ServiceFailure, TransportFailure) as failure:
        asking.failures += 1
        asking.failure = failure
        raise


def said_of_itself(session: Session) -> Flow[dict[str, Any]]:
    """What the service says about itself, as it came. The service sends it again only if it has changed."""
    known = session.said
    etag = None if known is None else known.headers.get("etag")
    headers = {"accept": "application/json"} | ({} if etag is None else {"if-none-match": etag})
    answer = yield from call(session, Request("GET", "/v1/capabilities", headers))
    if known is not None and answer.status == 304:
        return decode(known)
    session.said = answer
    return decode(answer)


def _asked(session: Session) -> Flow[ServiceFacts]:
    try:
        body = yield from said_of_itself(session)
    except ServiceFailure as failure:
        if failure.status != 403:
            raise
        return ServiceFacts()
    check_facts(body)
    bounds = body.get("per_tenant")
    # If the service lets nobody wait, one run is open at a time.
    runs_max = None if bounds is None else max(1, int(bounds["waits_max"]))
    return ServiceFacts(frozenset(str(name) for name in body.get("features", [])), runs_max)


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
    """The seconds from now that a header states: as a whole number or, as a proxy may send it, as a date. RFC 9110 § 10.2.3."""
    if header is None:
        return None
    if header.isascii() and header.isdigit():
        return int(header[:9])
    try:
        return max(0, round(email.utils.parsedate_to_datetime(header).timestamp() - time.time()))
    except ValueError:
        return None
