"""Gradings that the service makes: one request runs programs against tests. See the project's docs/GRADING.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .answer_check import check_answer
from .ask_until_ended import WAIT_SECONDS, ask_until_ended
from .backoff import delay_seconds
from .contract import LIST_LIMIT_MAX
from .effects import Answer, Emit, Flow, Pause, Request, Stream
from .failures import TransportFailure
from .jobs import random_key
from .session import Session, accepted, call, decode, part_of_path, path_of, read
from .submission import body_of

_ROUTE = "GET /v1/gradings/{grading}"


def submit_grading(
    session: Session, grading: Mapping[str, Any], *, idempotency_key: str | None = None
) -> Flow[Mapping[str, Any]]:
    """Stores a grading. `grading` has the contract's members: `programs`, `tests` and what applies to all of them.

    The answer has the `grading_id`. A lost answer does no harm: the request is repeated with the same `idempotency_key`.
    """
    key = idempotency_key or random_key()
    return stored_of((yield from call(session, grading_request(grading, key))))


def grading_request(grading: Mapping[str, Any], idempotency_key: str) -> Request:
    """The request that stores a grading."""
    headers = {"accept": "application/json", "content-type": "application/json", "idempotency-key": idempotency_key}
    return Request("POST", "/v1/gradings", headers, body_of(grading))


def stored_of(answer: Answer) -> Mapping[str, Any]:
    """What the service says about a grading that it has stored."""
    stored = decode(answer)
    check_answer("POST /v1/gradings", stored)
    return stored


def grading(session: Session, grading_id: str, *, wait_seconds: float = 0.0) -> Flow[Mapping[str, Any]]:
    """A grading's state after at most `wait_seconds` (0 to 300). `graded` has each program, with its verdict if there is one."""
    path = path_of(_path(grading_id), wait_seconds=wait_seconds or None)
    return (yield from read(session, path, route=_ROUTE, wait_seconds=wait_seconds))


def gradings(session: Session) -> Stream[Mapping[str, Any]]:
    """Every grading of the tenant, newest first, without its programs."""
    cursor: str | None = None
    while True:
        page = yield from read(session, path_of("/v1/gradings", limit=LIST_LIMIT_MAX, cursor=cursor), route="GET /v1/gradings")
        for item in page["items"]:
            yield Emit(item)
        cursor = page["next_cursor"]
        if cursor is None:
            return


def wait_for_grading(
    session: Session, grading_id: str, *, timeout_seconds: float | None = None
) -> Flow[Mapping[str, Any]]:
    """Waits until a grading has ended, and returns it. The service holds the request; nothing is polled.

    Like `wait`, raises `TransportFailure` with the reason `timeout` once `timeout_seconds` are over. The grading goes on.
    """
    return (
        yield from ask_until_ended(
            session,
            grading_id,
            lambda asking, seconds: grading(asking, grading_id, wait_seconds=seconds),
            lambda found: found["finished_at"] is not None,
            timeout_seconds,
        )
    )


def grading_events(session: Session, grading_id: str, *, after: int = 0) -> Stream[Mapping[str, Any]]:
    """A grading's events as they happen: each event after `after`, once and in order, until the grading has ended.

    The `kind` of an event is `job` if a job ended, `program` if a program was judged, and `finished` for the last event.
    """
    follower = EventFollower(session, grading_id, after)
    while not follower.has_finished:
        for event in (yield from follower.next_events()):
            yield Emit(event)


@dataclass(slots=True)
class EventFollower:
    """A position in the events of a grading."""

    session: Session
    grading_id: str
    after: int = 0
    has_finished: bool = False
    expired: int = 0

    def next_events(self) -> Flow[Sequence[Mapping[str, Any]]]:
        """The next events; none if the wait for them expired. The service holds the request."""
        if self.expired > 0:
            yield Pause(delay_seconds(self.session.retry, self.expired))
        path = path_of(f"{_path(self.grading_id)}/events", after=self.after, wait_seconds=WAIT_SECONDS)
        page = yield from read(accepted(self.session), path, route=f"{_ROUTE}/events", wait_seconds=WAIT_SECONDS)
        events = page["items"]
        expected = range(self.after + 1, self.after + 1 + len(events))
        if [event["seq"] for event in events] != list(expected):
            raise TransportFailure("undecodable", f"the page after event {self.after} is not what follows it")
        self.after += len(events)
        self.has_finished = page["next_cursor"] is None
        self.expired = 0 if events else self.expired + 1
        return events


def cancel_grading(session: Session, grading_id: str) -> Flow[Mapping[str, Any]]:
    """Asks the service to end a grading. Its jobs that have not ended are cancelled, and no more jobs are made."""
    body = decode((yield from call(session, cancel_grading_request(grading_id))))
    check_answer("DELETE /v1/gradings/{grading}", body)
    return body


def cancel_grading_request(grading_id: str) -> Request:
    """The request that asks the service to end a grading."""
    return Request("DELETE", _path(grading_id), {"accept": "application/json"})


def _path(grading_id: str) -> str:
    return f"/v1/gradings/{part_of_path(grading_id)}"
