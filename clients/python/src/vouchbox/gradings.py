"""Gradings that the service makes: programs against tests, in one request. docs/GRADING.md of the project says what they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from .answer_check import check_answer
from .backoff import delay_seconds
from .effects import Flow, Pause, Request
from .jobs import WAIT_SECONDS, random_key
from .session import Session, call, decode, path_of, read
from .submission import body_of

_ROUTE = "GET /v1/gradings/{grading}"


def submit_grading(
    session: Session, grading: Mapping[str, Any], *, idempotency_key: str | None = None
) -> Flow[Mapping[str, Any]]:
    """Stores a grading, with the members of the contract: `programs`, `tests` and what holds for all of them.

    The answer has its `grading_id`. A lost answer does no harm: the request is repeated with the same `idempotency_key`.
    """
    key = idempotency_key or random_key()
    headers = {"accept": "application/json", "content-type": "application/json", "idempotency-key": key}
    stored = decode((yield from call(session, Request("POST", "/v1/gradings", headers, body_of(grading)))))
    check_answer("POST /v1/gradings", stored)
    return stored


def grading(session: Session, grading_id: str, *, wait_seconds: float = 0.0) -> Flow[Mapping[str, Any]]:
    """A grading as it is after at most `wait_seconds` (0 to 300). `graded` has each program, with its verdict if it has one."""
    path = path_of(_path(grading_id), wait_seconds=wait_seconds or None)
    return (yield from read(session, path, route=_ROUTE, wait_seconds=wait_seconds))


def wait_for_grading(session: Session, grading_id: str) -> Flow[Mapping[str, Any]]:
    """A grading once it has ended. The service holds the wait; nothing is polled."""
    expired = 0
    while True:
        found = yield from grading(session, grading_id, wait_seconds=WAIT_SECONDS)
        if found["finished_at"] is not None:
            return found
        expired += 1
        yield Pause(delay_seconds(session.retry, expired))


def cancel_grading(session: Session, grading_id: str) -> Flow[Mapping[str, Any]]:
    """Asks for the end of a grading. Its jobs that have not ended are cancelled, and no others are made."""
    request = Request("DELETE", _path(grading_id), {"accept": "application/json"})
    body = decode((yield from call(session, request)))
    check_answer("DELETE /v1/gradings/{grading}", body)
    return body


def _path(grading_id: str) -> str:
    return f"/v1/gradings/{quote(grading_id, safe='')}"
