"""Tests with a service that may answer anything over real HTTP. Clients check the form of an answer before they believe it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from vouchbox import AsyncClient, Client, EvidenceFailure, Retry, RunResult, ServiceFailure, TransportFailure, is_away

RESULT: dict[str, Any] = {
    "job_id": "job_1",
    "status": "succeeded",
    "exit_code": 0,
    "duration_ms": 1,
    "stdout": "",
    "stderr": "",
    "truncated": False,
    "violations": [],
    "artifacts": [],
}

Answer = Callable[[BaseHTTPRequestHandler], None]


class Hostile(ThreadingHTTPServer):
    """Gives one answer to every request, and counts the requests."""

    daemon_threads = True
    seen = 0
    answer: Answer


@contextmanager
def serving(answer: Answer) -> Generator[Hostile]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.seen += 1
            self.rfile.read(int(self.headers.get("content-length") or 0))
            try:
                answer(self)
            except OSError:
                pass  # The client has gone away, as it should.

        do_POST = do_PUT = do_DELETE = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = Hostile(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def saying(value: Any) -> Answer:
    return sending(json.dumps(value).encode())


def sending(body: bytes, declared: int | None = None) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", str(len(body) if declared is None else declared))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def client_of(server: Hostile, timeout_seconds: float = 5.0) -> Client:
    url = f"http://127.0.0.1:{server.server_address[1]}"
    return Client(url, "key-1", retry=Retry(attempts_max=1), timeout_seconds=timeout_seconds)


def async_client_of(server: Hostile, timeout_seconds: float = 5.0, retry: Retry = Retry(attempts_max=1)) -> AsyncClient:
    return AsyncClient(f"http://127.0.0.1:{server.server_address[1]}", "key-1", retry=retry, timeout_seconds=timeout_seconds)


@pytest.mark.parametrize(
    "value",
    [
        {**RESULT, "stdout": 7},
        {**RESULT, "artifacts": None},
        {**RESULT, "exit_code": 2**60},
        {**RESULT, "exit_code": 0.5},
        {**RESULT, "exit_code": True},
        {**RESULT, "job_id": "job_2"},
        {**RESULT, "violations": [{"type": "memory"}]},
        {name: value for name, value in RESULT.items() if name != "truncated"},
        [RESULT],
        "text",
    ],
)
def test_an_answer_of_another_form_is_refused(value: Any) -> None:
    with serving(saying(value)) as server, client_of(server) as client, pytest.raises(TransportFailure) as caught:
        client.result("job_1")
    assert caught.value.reason == "undecodable"


@pytest.mark.parametrize("job_id", ["../../ESCAPED", "..", "", "a/b", "a\x1b[2J", "x" * 129, "a\\b", "a.b", "a\n", None, 7])
def test_a_job_that_is_named_by_no_id_is_refused(job_id: Any) -> None:
    answer = saying({"job_id": job_id, "status": "queued", "created_at": ""})
    with serving(answer) as server, client_of(server) as client, pytest.raises(TransportFailure) as caught:
        client.submit("x")
    assert caught.value.reason == "undecodable"


LINK_URLS = ["@elsewhere.example/links/a#b", "//elsewhere.example/links/a#b", "/links/a#\x1b", "/links/a", "/links/other#b"]


@pytest.mark.parametrize("link_url", LINK_URLS)
def test_a_link_that_would_lead_somewhere_else_is_refused_without_its_secret(link_url: str) -> None:
    link: dict[str, Any] = {"link_id": "a", "job_id": "job_1", "principal": "", "shows": [], "created_at": "", "expires_at": ""}
    with serving(saying({**link, "link_url": link_url})) as server, client_of(server) as client:
        with pytest.raises(TransportFailure) as caught:
            client.create_link("job_1")
        assert server.seen == 1
    assert caught.value.reason == "undecodable"
    assert link_url not in str(caught.value)


@pytest.mark.parametrize("ended", [{"link_id": "a", "revoked": False}, {"link_id": "other", "revoked": True}])
def test_a_link_has_ended_only_if_the_answer_says_so(ended: dict[str, Any]) -> None:
    with serving(saying(ended)) as server, client_of(server) as client, pytest.raises(TransportFailure, match="has ended"):
        client.revoke_link("job_1", "a")


@pytest.mark.parametrize(
    "event", ["text", {}, {"job_id": "job_1", "seq": 1, "kind": "stdout", "data": {"text": []}}, {"seq": "1"}]
)
def test_an_event_of_another_form_is_refused(event: Any) -> None:
    with serving(saying({"events": [event], "next_cursor": None})) as server, client_of(server) as client:
        with pytest.raises(TransportFailure) as caught:
            client.replay("job_1")
    assert caught.value.reason == "undecodable"


@pytest.mark.parametrize("name", ["attestation", "result_artifact", "log_proof", "canary"])
def test_evidence_is_read_only_where_it_has_the_digest_that_it_declares(name: str) -> None:
    def declaring(sha256: str) -> Answer:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("content-length", "8")
            handler.send_header("x-content-sha256", sha256)
            handler.end_headers()
            handler.wfile.write(b"evidence")

        return answer

    own = hashlib.sha256(b"evidence").hexdigest()
    with serving(declaring(own)) as server, client_of(server) as client:
        assert getattr(client, name)("job_1").data == b"evidence"
    for other in [hashlib.sha256(b"other").hexdigest(), "", own.upper()]:
        with serving(declaring(other)) as server, client_of(server) as client, pytest.raises(TransportFailure) as caught:
            getattr(client, name)("job_1")
        assert caught.value.reason == "digest"


def test_an_answer_that_was_cut_or_is_nested_without_end_is_refused() -> None:
    for answer, reasons in [
        (sending(b"{}", declared=10), {"truncated", "network"}),
        (sending(b"[" * 200_000), {"undecodable"}),
        (sending(b'{"job_id":'), {"undecodable"}),
    ]:
        with serving(answer) as server, client_of(server) as client, pytest.raises(TransportFailure) as caught:
            client.result("job_1")
        assert caught.value.reason in reasons


def test_an_answer_without_end_is_left_after_as_many_bytes_as_one_can_have() -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(bytes(2**20))

    with serving(endless) as server, client_of(server) as client, pytest.raises(TransportFailure) as caught:
        client.result("job_1")
    assert caught.value.reason == "undecodable"


def test_an_answer_that_trickles_ends_as_a_timeout() -> None:
    stopped = threading.Event()

    def trickling(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not stopped.wait(0.05):
            handler.wfile.write(b" ")

    with serving(trickling) as server, client_of(server, timeout_seconds=0.5) as client:
        with pytest.raises(TransportFailure) as caught:
            client.result("job_1")
        stopped.set()
    assert caught.value.reason == "timeout"


@pytest.mark.parametrize("seconds", [0, -1, math.nan])
def test_a_wait_of_no_time_asks_once(seconds: float) -> None:
    async def waits(client: AsyncClient) -> None:
        await client.wait("job_1", timeout_seconds=seconds)

    with serving(saying({**RESULT, "status": "running"})) as server:
        waiting = lambda: client_of(server).wait("job_1", timeout_seconds=seconds)  # noqa: E731
        for wait in (waiting, lambda: asyncio.run(waits(async_client_of(server)))):
            with pytest.raises(TransportFailure) as caught:
                wait()
            assert caught.value.reason == "timeout"
        assert server.seen == 2


@pytest.mark.parametrize("seconds", [2.0**40, math.inf])
def test_a_client_may_have_no_timeout(seconds: float) -> None:
    async def result(client: AsyncClient) -> str:
        return (await client.result("job_1")).job_id

    with serving(saying(RESULT)) as server:
        assert client_of(server, seconds).result("job_1").job_id == "job_1"
        assert asyncio.run(result(async_client_of(server, seconds))) == "job_1"


@pytest.mark.parametrize("wait", ["wait", "wait_for_grading"])
def test_a_wait_ends_in_its_time_while_an_answer_comes(wait: str) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(1025):
            handler.wfile.write(bytes(2**16))
            time.sleep(0.01)

    with serving(endless) as server, client_of(server) as client, pytest.raises(TransportFailure) as caught:
        getattr(client, wait)("job_1", timeout_seconds=0.5)
    assert caught.value.reason == "timeout"


@pytest.mark.parametrize("bears_loss", [False, True])
def test_runs_that_begin_at_once_ask_a_lost_service_together(bears_loss: bool) -> None:
    async def runs(client: AsyncClient) -> list[BaseException | RunResult]:
        return await asyncio.gather(*(client.run("x") for _ in range(20)), return_exceptions=True)

    def lost(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True

    with serving(lost) as server:
        retry = Retry(attempts_max=3, base_seconds=0.01, patience_seconds=0.0, bears_loss=bears_loss)
        client = async_client_of(server, retry=retry)
        outcomes = asyncio.run(runs(client))
    assert all(isinstance(failure, TransportFailure) and failure.reason == "network" for failure in outcomes)
    assert (len(outcomes), server.seen) == (20, 3)


def test_a_run_at_a_lost_service_does_not_wait_for_one_who_bears_the_loss() -> None:
    asked = threading.Event()

    def lost(handler: BaseHTTPRequestHandler) -> None:
        asked.set()
        handler.close_connection = True

    async def follows(client: AsyncClient) -> None:
        async for _ in client.follow("job_1"):
            pass

    async def main(client: AsyncClient) -> None:
        following = asyncio.create_task(follows(client))
        await asyncio.to_thread(asked.wait)
        with pytest.raises(TransportFailure) as caught:
            await asyncio.wait_for(client.run("x"), 20)
        assert (caught.value.reason, following.cancel()) == ("network", True)

    with serving(lost) as server:
        asyncio.run(main(async_client_of(server, retry=Retry(attempts_max=3, base_seconds=0.01))))


def test_a_submission_is_repeated_no_more_than_other_requests_if_its_connection_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    with serving(saying({"features": ["submission_wait"]})) as server:
        client = Client(f"http://127.0.0.1:{server.server_address[1]}", "key-1", retry=Retry(attempts_max=3))
        with pytest.raises(TransportFailure, match="POST /v1/jobs"):
            client.run("x")
    pauses.clear()
    with client, pytest.raises(TransportFailure) as caught:
        client.run("x")
    assert (caught.value.reason, caught.value.job_id, len(pauses)) == ("network", None, 2)


def test_errors_of_a_service_that_is_away_can_be_told_from_others() -> None:
    def refused(status: int) -> ServiceFailure:
        return ServiceFailure("", code="", status=status, retryable=True)

    away = [TransportFailure("network", ""), TransportFailure("timeout", ""), refused(503)]
    away += [TransportFailure("unstructured", "", status=502)]
    others = [TransportFailure("digest", ""), refused(500), EvidenceFailure("job", ""), ValueError(), KeyboardInterrupt()]
    assert [is_away(error) for error in (*away, *others)] == [True] * 4 + [False] * 5


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_key_stays_with_its_service(status: int) -> None:
    with serving(saying(RESULT)) as other:

        def elsewhere(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            handler.send_header("location", f"http://127.0.0.1:{other.server_address[1]}/v1/jobs")
            handler.send_header("content-length", "0")
            handler.end_headers()

        with serving(elsewhere) as server, client_of(server) as client:
            for ask in (lambda: client.submit("x"), lambda: client.result("job_1")):
                with pytest.raises(TransportFailure) as caught:
                    ask()
                assert (caught.value.reason, caught.value.status) == ("unstructured", status)
        assert other.seen == 0
