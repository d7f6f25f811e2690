"""Sessions with both clients, in real cells: each program goes on from where the last program ended."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from service import Service
from vouchbox import AsyncClient, Client, InputUnavailable, Kept, NotKept, SessionConflict, SessionNotFound


class Face:
    """Either client, with calls that return only when they are done."""

    def __init__(self, client: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._client = client
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._client, name)
        return self._ended(member) if callable(member) else member

    def _ended(self, method: Any) -> Any:
        def called(*words: Any, **options: Any) -> Any:
            value = method(*words, **options)
            value = self._loop.run_until_complete(value) if inspect.isawaitable(value) else value
            return Face(value, self._loop) if type(value).__name__.endswith("ProgramSession") else value

        return called


@pytest.fixture(params=[Client, AsyncClient], ids=lambda kind: kind.__name__)
def client(request: pytest.FixtureRequest, service: Service, api_key: str) -> Iterator[Any]:
    loop = asyncio.new_event_loop()
    made = Face(request.param(service.url, api_key), loop)
    yield made
    made.close()
    loop.close()


@pytest.mark.parametrize("name", ["", "../x", ".", "a b", "-a", "é", "a\n", "x" * 65])
def test_a_session_is_refused_at_once_if_no_session_can_have_its_name(client: Any, name: str) -> None:
    with pytest.raises(ValueError, match=r"^a session has 1 to 64 letters, digits,"):
        client.session(name)


def test_a_step_begins_with_the_variables_and_files_of_the_one_before(client: Any) -> None:
    session = client.session("notes")
    first = session.run("import math\nxs = [1, 2]\nopen('notes.txt', 'w').write('é')")
    assert (first.moved, first.problem, session.last_job) == (True, None, first.job_id)
    assert first.kept == Kept(globals=2, files=2, not_kept=(), more_not_kept=0), "`output` is a directory of both"
    second = session.run("print(math.floor(sum(xs)), open('notes.txt').read(), input())", stdin="in")
    assert (second.stdout, dict(second.files), second.large_outputs) == ("3 é in\n", {}, ())
    again = client.session("notes")
    assert (again.name, again.last_job) == ("notes", second.job_id)
    assert again.run("open('output/o', 'w').write(str(xs))").files == {"output/o": b"[1, 2]"}


def test_a_step_says_what_it_could_not_keep(client: Any) -> None:
    result = client.session().run("opened = open('main.py')\nkept = 1")
    (told,) = result.kept.not_kept
    assert (result.moved, told.kind, told.name, result.kept.globals) == (True, "global", "opened", 1)
    assert isinstance(told, NotKept) and told.reason.startswith("TypeError: cannot pickle")


def test_a_program_that_fails_leaves_the_session_where_it_was(client: Any) -> None:
    session = client.session()
    first = session.run("a = 1")
    failed = session.run("a = 2\nraise ValueError")
    assert (failed.status, failed.moved, failed.problem, session.last_job) == ("failed", False, None, first.job_id)
    assert (failed.violations, failed.lost) == ((), ())
    assert session.run("print(a)").stdout == "1\n"


def test_what_a_program_writes_as_its_report_is_a_report_or_nothing(client: Any) -> None:
    code = "import os\nos.mkdir('output/.session')\nopen('output/.session/kept.json', 'w').write({!r})\nos._exit(0)"
    for report in ("[", "[]", "[" * 5000, '{"globals": 1}', '{"globals":1,"files":0,"not_kept":[[]],"more_not_kept":0}'):
        result = client.session().run(code.format(report))
        assert (result.status, result.moved, result.kept) == ("succeeded", False, None)
        assert result.problem == "output/.session/state was not written"


def test_a_state_that_is_too_large_is_told(client: Any) -> None:
    result = client.session().run("b = bytes(65 << 20)", limits={"mem_mb": 512})
    assert (result.moved, result.kept) == (False, None)
    assert "bytes" in result.problem


def test_a_session_that_another_moved_is_a_conflict(client: Any) -> None:
    one, other = client.session("shared"), client.session("shared")
    moved = one.run("a = 1")
    with pytest.raises(SessionConflict, match=f"the last step is {moved.job_id}"):
        other.run("a = 2")
    assert other.last_job is None
    assert client.session("shared").run("print(a)").stdout == "1\n"


def test_a_session_has_one_language_and_may_be_of_another_than_python(client: Any) -> None:
    session = client.session("shell", language="bash")
    session.run("echo kept > file")
    assert client.session("shell").run("cat file").stdout == "kept\n"
    with pytest.raises(SessionConflict, match="the session is in the language bash"):
        client.session("shell").run("1", language="python")


def test_a_step_whose_session_was_removed_says_so(client: Any, service: Service, api_key: str) -> None:
    session = client.session("gone")

    def remove() -> None:
        with Client(service.url, api_key) as other:
            other.remove_session("gone")

    step = session.run("a = 1\ntools.remove()", tools={"remove": remove})
    assert (step.status, step.moved, step.problem) == ("succeeded", False, "the session was removed while the step ran")
    assert session.last_job is None


def test_sessions_are_listed_and_removed(client: Any) -> None:
    with pytest.raises(SessionNotFound):
        client.remove_session("none")
    session = client.session("b")
    step = session.run("a = 1")
    client.session("a").run("raise ValueError")
    listed = client.sessions()
    assert [(each["name"], each["last_job_id"]) for each in listed] == [("a", None), ("b", step.job_id)]
    session.remove()
    client.remove_session("a")
    assert (session.last_job, client.sessions()) == (None, [])
    assert client.detail(step.job_id)["status"] == "succeeded"
    assert session.run("print('a' in globals())").stdout == "False\n"


def test_a_state_that_is_not_there_is_refused(client: Any) -> None:
    with pytest.raises(InputUnavailable, match="/session/after"):
        client.run({"language": "python", "code": "1", "session": {"name": "s", "after": "job_none"}})
