"""Tests of behaviour that only one of the clients has, and of behaviour that no scenario can express."""

from __future__ import annotations

import asyncio
import io
import socket
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from fault_proxy import FaultProxy
from service import Service
from vouchbox import (
    AsyncClient,
    BlobNotFound,
    BlobUnavailable,
    Client,
    GradeTest,
    InputUnavailable,
    Interactor,
    JobSubmission,
    LinkNotFound,
    Retry,
    StoredBlob,
    TransportFailure,
)
from vouchbox.jobs import submission_request
from vouchbox.submission import submission_of


def test_runs_of_one_async_client_go_on_side_by_side(service: Service, api_key: str) -> None:
    async def main() -> list[str]:
        async with AsyncClient(service.url, api_key) as client:
            ran = await asyncio.gather(*(client.run(f"print({number})") for number in range(4)))
            return [each.stdout for each in ran]

    assert asyncio.run(main()) == ["0\n", "1\n", "2\n", "3\n"]


def test_a_run_whose_output_is_heard_asks_for_nothing_after_its_pages(proxy: FaultProxy, api_key: str) -> None:
    heard: list[str] = []
    with Client(proxy.url, api_key) as client:
        client.run("true", language="bash")
        before = len(proxy.seen)
        result = client.run("print(6 * 7)", on_stdout=heard.append)
    assert (heard, result.stdout, result.receipt["status"]) == (["42\n"], "42\n", "succeeded")
    assert {each.operation for each in proxy.seen[before:]} <= {"POST /v1/jobs", "GET /v1/jobs/{id}/replay"}


def test_an_async_callback_is_awaited(service: Service, api_key: str) -> None:
    heard: list[str] = []

    async def hear(text: str) -> None:
        await asyncio.sleep(0)
        heard.append(text)

    async def main() -> None:
        async with AsyncClient(service.url, api_key) as client:
            await client.run("print(1); print(2)", on_stdout=hear)

    asyncio.run(main())
    assert heard == ["1\n", "2\n"]


def test_a_timeout_of_asyncio_cancels_the_job(service: Service, api_key: str) -> None:
    async def main() -> str:
        async with AsyncClient(service.url, api_key) as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await client.run("sleep 300", language="bash", limits={"wall_seconds": 300})
            (job,) = [job async for job in client.jobs()]
            return (await client.wait(job["job_id"])).status

    assert asyncio.run(main()) == "cancelled"


def test_an_error_of_a_callback_about_another_run_stays_as_it_is(service: Service, api_key: str) -> None:
    failure = TransportFailure("network", "no answer")
    failure.job_id = "job_2"

    def fail(_text: str) -> None:
        raise failure

    with Client(service.url, api_key) as client, pytest.raises(TransportFailure) as caught:
        client.run("echo a", language="bash", on_stdout=fail)
    assert (caught.value, caught.value.job_id) == (failure, "job_2")


def test_a_callback_that_fails_cancels_the_job(service: Service, api_key: str) -> None:
    def fail(text: str) -> None:
        raise LookupError(text)

    with Client(service.url, api_key) as client:
        with pytest.raises(LookupError, match="started"):
            client.run("echo started; sleep 300", language="bash", limits={"wall_seconds": 300}, on_stdout=fail)
        (job,) = client.jobs()
        assert client.wait(job["job_id"]).status == "cancelled"


def test_jobs_are_found_by_their_labels(service: Service, api_key: str) -> None:
    with Client(service.url, api_key) as client:
        first = client.submit("echo", language="bash", labels=["course 7", "attempt, the first"]).job_id
        other = client.run("echo", language="bash", labels=["course 8"], sign_labels=True)
        assert [job.get("labels") for job in client.jobs(label="course 7")] == [["course 7", "attempt, the first"]]
        assert [job["job_id"] for job in client.jobs(label="attempt, the first")] == [first]
        assert (client.detail(other.job_id).get("receipt") or {}).get("labels") == ["course 8"]


def test_a_job_that_nobody_follows_any_longer_goes_on(service: Service, api_key: str) -> None:
    with Client(service.url, api_key) as client:
        job_id = client.submit("echo one; read line; echo two", language="bash", stdin="x").job_id
        for _ in client.follow(job_id):
            break
        assert client.wait(job_id).stdout == "one\ntwo\n"


def test_a_workspace_that_is_edited_between_its_steps_says_so(service: Service, api_key: str) -> None:
    with Client(service.url, api_key) as client:
        workspace = client.workspace()
        workspace.run("open('a', 'w').write('1')")
        workspace.run("print(open('a').read())")
        workspace.write("b", b"\x00\xff")
        workspace.remove("a")
        workspace.run("import os; print(os.listdir())")
        assert [step.edited for step in workspace.steps] == [False, False, True]
        assert (workspace.paths(), workspace.read("b")) == (["b"], b"\x00\xff")
        assert workspace.digest == workspace.steps[-1].output_digest
        workspace.verify()


@pytest.mark.parametrize("path", ["", "/a", "../a", "a/../../b", "a//b", "./a", "a/", "a\\b", ".."])
def test_a_path_that_may_mean_another_file_is_refused(path: str) -> None:
    with pytest.raises(ValueError):
        Client("http://127.0.0.1:1", "key").workspace().write(path, b"")


def test_a_workspace_names_the_languages_that_it_runs() -> None:
    with pytest.raises(ValueError, match="python, node, typescript and bash, and not ruby"):
        Client("http://127.0.0.1:1", "key").workspace().run("puts 1", language="ruby")


def test_an_error_of_a_step_names_the_line_of_its_own_code(service: Service, api_key: str) -> None:
    with Client(service.url, api_key) as client:
        workspace = client.workspace()
        assert 'File "step.py", line 3' in workspace.run("'''text'''\n\nraise LookupError").stderr
        assert "line 2" in workspace.run("true\nnot-a-command", language="bash").stderr


@pytest.mark.parametrize("base_url", ["", "127.0.0.1:8080", "ftp://h", "http://", "http://u:p@h", "http://h/#x", "http://h:x"])
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_an_address_that_cannot_be_right_is_refused(kind: type[Client] | type[AsyncClient], base_url: str) -> None:
    with pytest.raises(ValueError):
        kind(base_url, "key")


@pytest.mark.parametrize("api_key", ["", "a b", "a\nb", "é"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_repeated(api_key: str) -> None:
    with pytest.raises(ValueError) as refusal:
        Client("http://127.0.0.1:1", api_key)
    assert not api_key.strip() or repr(api_key) not in str(refusal.value)


def test_the_key_is_in_no_text_about_a_client() -> None:
    client = Client("http://127.0.0.1:1", "top-secret")
    assert "top-secret" not in repr(client) + repr(vars(client))


def test_the_key_is_sent_and_not_what_a_netrc_file_has(
    service: Service, api_key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with Client(service.url, api_key) as client:
        assert f"key-of-{client.whoami()['tenant']}" == api_key


def test_a_service_behind_a_path_is_found_there(service: Service, api_key: str) -> None:
    proxy = FaultProxy(service.url)
    try:
        with Client(f"{proxy.url}/prefix/", api_key, retry=Retry(attempts_max=1)) as client:
            with pytest.raises(Exception, match="route_not_found"):
                client.whoami()
        assert [request.operation for request in proxy.seen] == ["GET /prefix/v1/whoami"]
    finally:
        proxy.close()


def test_no_body_of_a_kept_connection_waits_for_the_acknowledgement_of_its_head(service: Service, api_key: str) -> None:
    held: list[bool] = []

    def look(response: httpx.Response) -> None:
        extensions = cast("Mapping[str, Any]", response.extensions)  # pyright: ignore[reportUnknownMemberType]
        connection: socket.socket = extensions["network_stream"].get_extra_info("socket")
        held.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 0)

    with Client(service.url, api_key, http=httpx.Client(event_hooks={"response": [look]})) as client:
        for _ in range(2):
            client.upload(b"something")
    assert len(held) > 1 and not held[-1]


def test_the_same_submission_has_the_same_bytes() -> None:
    said = {"files": {"b": b"1", "a": "2"}, "env": {"A": "1"}}
    bodies = {submission_request(submission_of("x", **said), "key").body for _ in range(3)}  # pyright: ignore[reportArgumentType]
    assert len(bodies) == 1


@pytest.mark.parametrize("name", ["labels", "args", "outputs"])
def test_a_text_in_place_of_a_list_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name} must be a list of texts, .*: {name}=\['abc'\]$"):
        Client("http://127.0.0.1:1", "key").submit("1", **{name: "abc"})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", [".", ".."])
def test_a_name_that_an_address_would_drop_is_refused(name: str) -> None:
    client = Client("http://127.0.0.1:1", "key")
    for call in (client.remove_session, client.detail, client.grading):
        with pytest.raises(ValueError, match=r"^'\.\.?' is no name and no id$"):
            call(name)


def test_a_program_brings_packages_that_were_uploaded(service: Service, api_key: str) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as packed:
        entry = tarfile.TarInfo("tiny.py")
        entry.size = len(b"NAME = 'tiny'")
        packed.addfile(entry, io.BytesIO(b"NAME = 'tiny'"))
    with Client(service.url, api_key) as client:
        libraries = client.upload(archive.getvalue())
        assert client.run("import tiny; print(tiny.NAME)", libraries=libraries).stdout == "tiny\n"
        submitted = client.submit("import tiny; print(tiny.NAME)", libraries={"blob": libraries["blob"]})
        assert client.wait(submitted.job_id).stdout == "tiny\n"


def test_a_file_is_uploaded_once_and_named_by_jobs(service: Service, api_key: str) -> None:
    content = bytes(range(256)) * 12_000  # More than an inline file may have.
    with Client(service.url, api_key) as client:
        stored = client.upload(content)
        assert stored["size_bytes"] == len(content)
        assert client.download(stored["blob"]).data == content
        for _ in range(2):
            ran = client.run("wc -c < input/large.bin", language="bash", files={"large.bin": stored, "small": "a"})
            assert ran.stdout.strip() == str(len(content))


def test_two_programs_talk_and_each_is_a_job(service: Service, api_key: str) -> None:
    with Client(service.url, api_key=api_key) as client:
        interactor: Interactor = {"language": "python", "code": "print(int(input()) * 2)"}
        program: JobSubmission = {"language": "python", "code": "print(21, flush=True)\nprint(input())"}
        submitted = client.submit({**program, "interactor": interactor})
        assert submitted.interaction is not None
        assert client.wait(submitted.job_id).stdout == "21\n42\n"
        peer = submitted.interaction["peer"]
        assert client.wait(peer).stdout == "42\n"
        assert client.detail(peer)["requested_spec"]["interaction"] == {"peer": submitted.job_id, "role": "interactor"}


def test_a_missing_blob_has_failures_of_its_own(service: Service, api_key: str) -> None:
    async def main() -> None:
        async with AsyncClient(service.url, api_key) as client:
            with pytest.raises(BlobNotFound):
                await client.download("sha256:" + "0" * 64)
            missing: StoredBlob = {"blob": "sha256:" + "0" * 64, "size_bytes": 0, "expires_at": ""}
            with pytest.raises(BlobUnavailable):
                await client.submit("true", language="bash", files={"a": missing})

    asyncio.run(main())


def test_an_output_of_a_job_becomes_an_input_of_another_without_being_sent(service: Service, api_key: str) -> None:
    with Client(service.url, api_key) as client:
        made = client.run("printf made > output/a", language="bash")
        read = client.run("cat input/b", language="bash", files={"b": {"from": {"job_id": made.job_id, "path": "output/a"}}})
        assert read.stdout == "made"
        assert read.receipt["input_artifacts"][0]["sha256"] == made.receipt["output_artifacts"][0]["sha256"]
        with pytest.raises(InputUnavailable):
            client.submit("true", language="bash", files={"b": {"from": {"job_id": made.job_id, "path": "output/none"}}})


def test_capabilities_that_the_client_has_are_not_sent_again(service: Service, api_key: str) -> None:
    statuses: list[int] = []

    def note(response: httpx.Response) -> None:
        statuses.append(response.status_code)

    with httpx.Client(event_hooks={"response": [note]}) as http, Client(service.url, api_key, http=http) as client:
        first, second = client.capabilities(), client.capabilities()
    assert (first, statuses) == (second, [200, 304])


def test_a_link_reads_the_result_without_a_key_until_it_is_revoked(service: Service, api_key: str) -> None:
    with httpx.Client(base_url=service.url) as anybody, Client(service.url, api_key) as client:
        job_id = client.run("print(6 * 7)").job_id
        link = client.create_link(job_id, shows=["code"], expires_in=60)
        address = httpx.URL(link["address"])
        assert str(address.copy_with(fragment=None)) == f"{service.url}/links/{link['link_id']}"

        def read() -> httpx.Response:
            return anybody.get(f"/links/{link['link_id']}/result", headers={"authorization": f"Bearer {address.fragment}"})

        assert read().json()["stdout"] == "42\n"
        (listed,) = client.links(job_id)
        assert (listed["link_id"], listed["shows"], "link_url" in listed) == (link["link_id"], ["code"], False)
        with pytest.raises(LinkNotFound):
            client.revoke_link(job_id, "../../result")
        client.revoke_link(job_id, link["link_id"])
        assert (read().status_code, client.links(job_id)) == (404, [])


@pytest.mark.parametrize("call", ["run", "grade"])
def test_an_interrupted_call_waits_but_seconds_for_a_service_that_does_not_answer(call: str) -> None:
    waits: list[tuple[str, float]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/capabilities":
            return httpx.Response(200, json={"features": []})
        timeout: Mapping[str, float] = cast("Any", request).extensions["timeout"]
        waits.append((request.method, max(timeout[part] for part in ("connect", "write", "read"))))
        if len(waits) == 1:
            raise KeyboardInterrupt
        raise httpx.ReadTimeout("no answer")

    http = httpx.Client(transport=httpx.MockTransport(answer))
    with Client("http://127.0.0.1:1", "key-1", http=http) as client, pytest.raises(KeyboardInterrupt):
        if call == "run":
            client.run("x")
        else:
            client.grade("x", tests=[GradeTest(name="a")])
    assert waits == [("POST", 30.0), ("POST", 5.0)]


@pytest.mark.parametrize("seconds", [float("nan"), -1.0])
def test_a_patience_with_which_tries_could_have_no_end_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="patience_seconds is .*; give a number from 0"):
        Retry(patience_seconds=seconds)
