"""A proxy on loopback that passes requests to the service and makes the faults that it was told to make.

It is as simple as a proxy can be: one request at a time on each connection, whole bodies, and no streams. `clients/README.md`
lists the faults.
"""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "date", "server"}


def operation_of(method: str, path: str) -> str:
    """The name of a request, without its query and the id in its path: `GET /v1/jobs/{id}/result`."""
    named = re.sub("/v1/(jobs|gradings)/[^/]+", r"/v1/\1/{id}", urlsplit(path).path)
    return f"{method} {named}"


@dataclass
class Seen:
    """One request that arrived."""

    operation: str
    at: float
    key: str | None


@dataclass
class Fault:
    """A fault, and for how many more requests to make it."""

    what: dict[str, Any]
    left: int


@dataclass
class FaultProxy:
    """A proxy in front of a service, for one scenario."""

    upstream: str
    faults: list[Fault] = field(default_factory=list[Fault])
    seen: list[Seen] = field(default_factory=list[Seen])
    on_request: Callable[[str], None] | None = None
    """Called in the proxy's thread when a request has arrived."""
    on_held: Callable[[str], None] | None = None
    """Called in the proxy's thread when an answer is kept back."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self.released = threading.Event()
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def add(self, what: dict[str, Any]) -> None:
        """Makes this fault from now on."""
        self.faults.append(Fault(what, int(what.get("count", 1))))

    def take(self, operation: str) -> dict[str, Any]:
        """The fault for a request; an empty fault if there is none. The request uses the fault up."""
        with self._lock:
            for fault in self.faults:
                if fault.what["on"] == operation and fault.left > 0:
                    fault.left -= 1
                    return fault.what
        return {}

    def requests(self, operation: str) -> list[Seen]:
        """The requests for one operation that have arrived so far."""
        return [request for request in self.seen if request.operation == operation]

    def close(self) -> None:
        """Stops."""
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: FaultProxy

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing: tests print only what went wrong."""

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        operation = operation_of(self.command, self.path)
        self.owner.seen.append(Seen(operation, time.monotonic(), self.headers.get("idempotency-key")))
        fault = self.owner.take(operation)
        if self.owner.on_request is not None:
            self.owner.on_request(operation)
        if fault.get("fault") == "cut_request":
            self.cut()
        elif "answer" in fault:
            self.answer_instead(fault["answer"])
        else:
            # If the answer will be kept back, the query is left out, so that the service answers without waiting.
            path = self.path.partition("?")[0] if fault.get("fault") == "hold_answer" else self.path
            self.answer_with(fault, operation, *self.forwarded(path, body))

    do_GET = do_POST = do_DELETE = handle_any

    def forwarded(self, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(urlsplit(self.owner.upstream).netloc, timeout=120)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in (*HOP_BY_HOP, "host")}
        connection.request(self.command, path, body or None, headers)
        response = connection.getresponse()
        try:
            kept = {name: value for name, value in response.getheaders() if name.lower() not in HOP_BY_HOP}
            return response.status, kept, response.read()
        finally:
            connection.close()

    def answer_with(self, fault: dict[str, Any], operation: str, status: int, headers: dict[str, str], body: bytes) -> None:
        """Passes an answer on, changed as the fault says."""
        if "without_features" in fault:
            value = json.loads(body)
            value["features"] = [name for name in value["features"] if name not in fault["without_features"]]
            body = json.dumps(value).encode()
        if "replace" in fault:
            old, new = fault["replace"]
            body = body.replace(old.encode(), new.encode())
        for name in fault.get("without_headers", []):
            headers = {other: value for other, value in headers.items() if other.lower() != name}
        match fault.get("fault"):
            case "cut_answer":
                self.cut()
            case "truncate_answer":
                self.send(status, headers, body, len(body) // 2)
            case "spoil_answer":
                self.send(status, headers, body[:-1] + bytes([body[-1] ^ 1]))
            case "hold_answer":
                if self.owner.on_held is not None:
                    self.owner.on_held(operation)
                self.owner.released.wait(60)
                self.cut()
            case _:
                self.send(status, headers, body)

    def answer_instead(self, answer: dict[str, Any]) -> None:
        """Answers without asking the service."""
        headers = dict(answer.get("headers", {}))
        if "retry_after" in answer:
            headers["retry-after"] = str(answer["retry_after"])
        if "code" in answer:
            retryable = answer["status"] in (429, 503)
            error = {"code": answer["code"], "message": "A fault.", "request_id": "req_0", "retryable": retryable}
            self.send(answer["status"], headers, json.dumps({"error": error}).encode())
        else:
            self.send(answer["status"], headers, answer["body"].encode())

    def send(self, status: int, headers: dict[str, str], body: bytes, length: int | None = None) -> None:
        """Sends an answer, or only a part of its body."""
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:length])
        if length is not None:
            self.cut()

    def cut(self) -> None:
        """Ends the connection."""
        self.close_connection = True
