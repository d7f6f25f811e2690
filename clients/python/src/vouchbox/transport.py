"""Turns requests into calls of httpx, and httpx's answers and errors into the client's. Both drivers share this module."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Generator, Mapping
from typing import Any, cast

import httpx

from .effects import Answer, Request
from .failures import TransportFailure
from .session import Session

ANSWER_BYTES_MAX = 64 * 1024 * 1024
"""More than the largest answer that the contract allows."""


ANSWER_BYTES_A_SECOND = 4096
"""The lowest allowed rate of an answer once the longest time without progress is over. Without it, a trickle would never end."""


class _Bearer(httpx.Auth):
    """The credential for one service. Because it is an `Auth`, it takes precedence over a .netrc file."""

    def __init__(self, api_key: str) -> None:
        self._header = f"Bearer {api_key}"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = self._header
        yield request


def arguments_of(session: Session, request: Request) -> dict[str, Any]:
    """The arguments for `httpx.Client.stream`. A redirect is never followed: it would give the key to another host."""
    seconds = min(session.timeout_seconds, request.within_seconds)
    return {
        "method": request.method,
        "url": session.base_url + request.path,
        "headers": {"accept-encoding": "identity", **request.headers},
        "content": request.body,
        "auth": _Bearer(session.api_key),
        # The wait for a free connection has no bound, because such a wait says nothing about the service.
        "timeout": httpx.Timeout(seconds, read=_seconds_of(session, request), pool=None),
        "follow_redirects": False,
    }


def _seconds_of(session: Session, request: Request) -> float:
    """How long the answer may go without progress."""
    return min(session.timeout_seconds + request.wait_seconds, request.within_seconds)


def send_at_once(response: httpx.Response) -> None:
    """Lets later requests on this connection go out at once. Without asyncio, httpcore up to 0.16 sends the body after the head,
    and the kernel holds the body back for 40 ms until the head is acknowledged."""
    extensions = cast("Mapping[str, Any]", response.extensions)  # pyright: ignore[reportUnknownMemberType]
    stream = extensions.get("network_stream")
    connection: Any = None if stream is None else stream.get_extra_info("socket")
    if isinstance(connection, socket.socket) and connection.family in (socket.AF_INET, socket.AF_INET6):
        # A connection that has already broken has nothing to send.
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class Gathering:
    """An answer while it arrives."""

    def __init__(self, session: Session, request: Request) -> None:
        self._what = f"{request.method} {request.path.split('?')[0]}"
        self._response: httpx.Response | None = None
        self._body = bytearray()
        self._patience = _seconds_of(session, request)
        self._within = request.within_seconds
        self._begun = time.monotonic()

    def begin(self, response: httpx.Response) -> None:
        """The head has come."""
        self._response = response

    def add(self, chunk: bytes) -> None:
        """A part of the body has come."""
        self._body += chunk
        if len(self._body) > ANSWER_BYTES_MAX:
            raise TransportFailure("undecodable", f"the answer to {self._what} has more than {ANSWER_BYTES_MAX} bytes")
        seconds = min(self._patience + len(self._body) / ANSWER_BYTES_A_SECOND, self._within)
        if time.monotonic() - self._begun > seconds:
            raise TransportFailure("timeout", f"the answer to {self._what} comes too slowly")

    def answer(self) -> Answer:
        """The whole answer. A body that does not have the declared length is refused."""
        response = self._response
        assert response is not None, "an answer has a head"
        declared = response.headers.get("content-length")
        if declared is not None and declared != str(len(self._body)):
            raise TransportFailure("truncated", f"the answer has {len(self._body)} of {declared} bytes")
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status_code, headers, bytes(self._body))

    def failure(self, error: httpx.HTTPError) -> TransportFailure:
        """The failure that an httpx error means."""
        if isinstance(error, httpx.TimeoutException):
            return TransportFailure("timeout", f"no answer in time to {self._what}")
        if self._response is not None:
            return TransportFailure("truncated", f"the answer to {self._what} broke off", status=self._response.status_code)
        return TransportFailure("network", f"no answer to {self._what}: {error}")
