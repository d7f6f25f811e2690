"""Only a promise for the submission itself is accepted. Any other signed promise is an error."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from base64 import b64encode
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from service import TENANTS, Service
from vouchbox import AsyncClient, Client, EvidenceFailure, NotPromised, Retry, canonical_json

AT = "2026-01-01T00:00:00.000Z"


def digest(data: str | bytes) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


@pytest.fixture(scope="module")
def logging() -> Iterator[Service]:
    running = Service(SERVICE_LOG_HOST="log.example", SERVICE_PROVIDER="subprocess")
    yield running
    running.stop()


def test_a_run_keeps_its_promise(logging: Service) -> None:
    with Client(logging.url, f"key-of-{TENANTS[0]}") as client:
        before = client.submit("print(1)", promise=True).promise
        ended = client.run(
            "print(input())",
            stdin="x",
            args=["a"],
            env={"A": "é"},
            files={"f.txt": "text"},
            promise="required",
        )
        assert before is not None and ended.promise is not None
        assert (before.tenant_job_number, ended.promise.tenant_job_number) == (1, 2)
        assert ended.promise.tenant == TENANTS[0]
        assert ended.promise.data == client.promise(ended.job_id).data
        assert client.pending(ended.job_id) == {"items": []}
        plain = client.run("print(1)")
        assert plain.promise is None
        with pytest.raises(NotPromised):
            client.promise(plain.job_id)


def test_an_async_run_keeps_its_promise(logging: Service) -> None:
    async def run() -> None:
        async with AsyncClient(logging.url, f"key-of-{TENANTS[1]}") as client:
            heard: list[str] = []
            ended = await client.run("print('hi')", promise=True, on_stdout=heard.append)
            assert (heard, ended.promise is not None and ended.promise.job_id) == (["hi\n"], ended.job_id)

    asyncio.run(run())


SUBMISSION: dict[str, Any] = {
    "language": "python",
    "runtime": None,
    "code_sha256": digest("x"),
    "stdin_sha256": digest("in"),
    "args_sha256": digest(canonical_json(["a"])),
    "env_sha256": None,
    "input_artifacts": [{"path": "input/f.txt", "size_bytes": 4, "sha256": digest("file")}],
}
PREDICATE: dict[str, Any] = {
    **{"tenant": "acme", "jobId": "job_1", "tenantJobNumber": 7, "acceptedAt": AT, "answerBy": "2026-01-01T00:10:00.000Z"},
    **{"logOrigin": "log.example/log/1", "logKey": "key", "submission": SUBMISSION},
}
OTHERS: dict[str, Any] = {
    "code_sha256": digest("y"),
    "language": "node",
    "stdin_sha256": None,
    "args_sha256": None,
    "env_sha256": digest("{}"),
    "input_artifacts": [],
}
TYPE = "urn:svc:predicate:job-accepted:v1"


def envelope_of(predicate: dict[str, Any], predicate_type: str = TYPE) -> bytes:
    payload = b64encode(json.dumps({"predicateType": predicate_type, "predicate": predicate}).encode()).decode()
    return json.dumps(
        {"payload": payload, "payloadType": "application/vnd.in-toto+json", "signatures": [{"keyid": "k", "sig": "AA=="}]}
    ).encode()


FOLDED: dict[str, Any] = {
    **{"job_id": "job_1", "status": "succeeded", "exit_code": 0, "duration_ms": 1, "stdout": "", "stderr": ""},
    **{"truncated": False, "violations": [], "artifacts": []},
}


class Promising(ThreadingHTTPServer):
    """A service that accepts a job and answers with this promise, or with a refusal if the promise is None."""

    daemon_threads = True
    promise: bytes | None = None
    features: tuple[str, ...] = ("job_promises",)
    lost: int = 0
    """How many requests about the promise get no answer."""
    seen: list[str]


@contextmanager
def promising(
    promise: bytes | None, *features: str, told: Mapping[str, object] | None = None
) -> Generator[tuple[Promising, Client]]:
    whoami: dict[str, object] = {"tenant": "acme", "principal": "p", "auth_method": "key", "credential_id": "c"}
    whoami["scopes"] = ["jobs:read"]
    bodies: dict[str, object] = {
        "GET /v1/whoami": {**whoami, "expires_at": None},
        "POST /v1/jobs": {"job_id": "job_1", "status": "queued", "created_at": AT, **(told or {})},
        "GET /v1/jobs/job_1/result": FOLDED,
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            asked = f"{self.command} {self.path.split('?')[0]}"
            server.seen.append(asked)
            if asked.endswith(("/promise", "/whoami")) and server.lost > 0:
                server.lost -= 1
                self.close_connection = True
            elif asked == "GET /v1/capabilities":
                self.say(200, json.dumps({"features": server.features}).encode())
            elif asked.endswith("/promise") and server.promise is not None:
                self.say(200, server.promise)
            elif asked in bodies:
                self.say(200, json.dumps(bodies[asked]).encode())
            else:
                error = {"code": "not_promised", "message": "none", "retryable": False}
                self.say(404, json.dumps({"error": error}).encode())

        do_POST = do_DELETE = do_GET

        def say(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.send_header("x-content-sha256", digest(body))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = Promising(("127.0.0.1", 0), Handler)
    server.promise, server.features, server.seen = promise, features or ("job_promises",), []
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        with Client(f"http://127.0.0.1:{server.server_address[1]}", "key-1", retry=Retry(attempts_max=1)) as client:
            yield server, client
    finally:
        server.shutdown()
        server.server_close()


def run(client: Client, wish: Any) -> None:
    client.run("x", stdin="in", args=["a"], files={"f.txt": "file"}, promise=wish)


@pytest.mark.parametrize(
    "promise",
    [
        envelope_of({**PREDICATE, "jobId": "job_2"}),
        envelope_of({**PREDICATE, "tenant": "other"}),
        envelope_of({**PREDICATE, "acceptedAt": "2025-01-01T00:00:00.000Z"}),
        envelope_of({**PREDICATE, "answerBy": "soon"}),
        envelope_of({**PREDICATE, "tenantJobNumber": 0}),
        envelope_of({**PREDICATE, "tenantJobNumber": True}),
        envelope_of({**PREDICATE, "submission": None}),
        *[
            envelope_of({**PREDICATE, "submission": {**SUBMISSION, name: value}})
            for name, value in OTHERS.items()
        ],
        envelope_of(PREDICATE, "urn:svc:predicate:execution-result:v1"),
        b"promise",
        b"[]",
    ],
    ids=lambda promise: digest(promise)[:8],
)
def test_a_promise_of_something_else_ends_the_run_and_cancels_its_job(promise: bytes) -> None:
    with promising(promise) as (server, client), pytest.raises(EvidenceFailure) as caught:
        run(client, True)
    assert (caught.value.check, caught.value.job_id) == ("promise", "job_1")
    assert "DELETE /v1/jobs/job_1" in server.seen


TELLS = ("job_promises", "submission_wait", "submission_include")
RECEIPT = {"receipt_sha256": "r", "terminal_reason": "exited"}


def test_a_run_with_a_promise_is_one_request() -> None:
    signed = json.loads(envelope_of(PREDICATE))
    told = {"result": FOLDED, "receipt": RECEIPT, "promise": signed}
    with promising(None, *TELLS, told=told) as (server, client):
        ended = client.run("x", stdin="in", args=["a"], files={"f.txt": "file"}, promise="required")
        assert ended.promise is not None
        assert (ended.promise.data, ended.promise.tenant_job_number) == (canonical_json(signed), 7)
        assert server.seen == ["GET /v1/capabilities", "POST /v1/jobs", "GET /v1/whoami"]


def test_a_promise_that_was_not_signed_in_time_is_fetched() -> None:
    with promising(envelope_of(PREDICATE), *TELLS, told={"result": FOLDED, "receipt": RECEIPT}) as (_, client):
        ended = client.run("x", stdin="in", args=["a"], files={"f.txt": "file"}, promise="required")
        assert ended.promise is not None and ended.promise.data == envelope_of(PREDICATE)


def test_a_promise_is_fetched_and_compared_although_the_service_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    with promising(envelope_of(PREDICATE)) as (server, _):
        server.lost = 9
        with Client(f"http://127.0.0.1:{server.server_address[1]}", "key-1", retry=Retry(attempts_max=2)) as client:
            submitted = client.submit("x", stdin="in", args=["a"], files={"f.txt": "file"}, promise="required")
        assert (submitted.promise is not None, server.lost, server.seen[-1]) == (True, 0, "GET /v1/whoami")


def test_a_promise_of_another_job_in_the_answer_ends_the_run() -> None:
    told = {"result": FOLDED, "receipt": RECEIPT, "promise": json.loads(envelope_of({**PREDICATE, "jobId": "job_2"}))}
    with promising(None, *TELLS, told=told) as (server, client), pytest.raises(EvidenceFailure):
        run(client, True)
    assert "DELETE /v1/jobs/job_1" in server.seen


def test_a_number_that_is_not_above_an_earlier_one_is_an_error() -> None:
    with promising(envelope_of(PREDICATE)) as (_, client):
        kept = client.submit("x", stdin="in", args=["a"], files={"f.txt": "file"}, promise=True)
        assert kept.promise is not None and kept.promise.tenant_job_number == 7
        with pytest.raises(EvidenceFailure):
            client.submit("x", stdin="in", args=["a"], files={"f.txt": "file"}, promise=True)


def test_a_run_that_requires_a_promise_is_cancelled_without_one() -> None:
    with promising(None) as (server, client):
        assert client.submit("x", promise=True).promise is None
        with pytest.raises(NotPromised) as caught:
            run(client, "required")
        assert caught.value.job_id == "job_1"
        assert "DELETE /v1/jobs/job_1" in server.seen


def test_a_service_that_keeps_no_log_is_not_asked() -> None:
    with promising(None, "other") as (server, client):
        with pytest.raises(EvidenceFailure):
            run(client, "required")
        assert server.seen == ["GET /v1/capabilities"]
