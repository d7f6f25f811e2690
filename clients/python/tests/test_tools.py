"""Tools that are the caller's functions, with real programs in real cells and both clients."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from service import Service
from vouchbox import AsyncClient, Client, EvidenceFailure, InvalidRequest, RunResult, Tool, ToolCall
from vouchbox.contract import Event, JobSubmission
from vouchbox.tool_schema import arguments_schema

Run = Callable[..., RunResult]


def run_sync(url: str, key: str, code: str, **options: Any) -> RunResult:
    with Client(url, key) as client:
        return client.run(code, **options)


def run_async(url: str, key: str, code: str, **options: Any) -> RunResult:
    async def main() -> RunResult:
        async with AsyncClient(url, key) as client:
            return await client.run(code, **options)

    return asyncio.run(main())


@pytest.fixture(params=[run_sync, run_async], ids=["Client", "AsyncClient"])
def run(request: pytest.FixtureRequest, service: Service, api_key: str) -> Run:
    def made(code: str, **options: Any) -> RunResult:
        return request.param(service.url, api_key, code, **{"limits": {"wall_seconds": 60}, **options})

    return made


SAYS = """
try:
    print(ascii(tools.it()))
except tools.ToolError as error:
    print("error:", error)
"""


def said(run: Run, it: Callable[..., object] | Tool, **options: Any) -> str:
    return run(SAYS, tools={"it": it}, **options).stdout.strip()


def test_a_program_calls_functions_of_the_caller(run: Run) -> None:
    def search(query: str, limit: int = 2) -> list[str]:
        return [f"about {query}"] * limit

    async def fetch(url: str) -> str:
        await asyncio.sleep(0)
        return url.upper()

    code = """
print(tools.search(query="é"), tools.search(query="b", limit=1), tools.fetch(url="a"))
try:
    tools.search(limit="many")
except tools.ToolError as error:
    print(error)"""
    result = run(code, tools={"search": search, "fetch": fetch})
    assert result.stdout.startswith("['about é', 'about é'] ['about b'] A\n")
    assert result.stdout.count("\n") == 2, "the service refuses what does not fit the hints"


@dataclass
class Page:
    url: str


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (None, "None"),
        ({"a": [1, 2.5, True]}, "{'a': [1, 2.5, True]}"),
        (Page("x"), "{'url': 'x'}"),
        (float("nan"), "error: Out of range float values are not JSON compliant"),
        ({1, 2}, "error: a tool cannot return a set"),
        ("\x00\x1b]0;x\x07\u2028\"", "'\\x00\\x1b]0;x\\x07\\u2028\"'"),
        ({"__proto__": {"polluted": 1}}, "{'__proto__': {'polluted': 1}}"),
    ],
    ids=["none", "json", "dataclass", "nan", "set", "hostile", "prototype"],
)
def test_a_result_is_json_or_an_error_of_the_tool(run: Run, value: object, word: str) -> None:
    assert said(run, lambda: value).startswith(word)


@pytest.mark.parametrize("value", ["x" * 300_000, "\ud800", 2**70 + 1], ids=["large", "half of a character", "large number"])
def test_a_result_that_the_service_does_not_take_is_an_error_of_the_tool(run: Run, value: object) -> None:
    assert said(run, lambda: value).startswith("error: the service refused its result: ")


def test_what_a_tool_raises_is_an_exception_of_the_program(run: Run) -> None:
    def fails() -> None:
        raise LookupError("no such \ud800 page")

    def silent() -> None:
        raise LookupError

    assert said(run, fails) == "error: no such ? page"
    assert said(run, silent) == "error: LookupError"
    assert said(run, lambda: next(iter(()))).startswith("error: ")


@pytest.mark.parametrize("raised", [SystemExit("enough"), asyncio.CancelledError("enough")])
def test_a_tool_that_would_end_its_process_or_task_fails_as_any_other(run: Run, raised: BaseException) -> None:
    def ends() -> None:
        raise raised

    async def ends_later() -> None:
        await asyncio.sleep(0)
        raise raised

    assert said(run, ends) == "error: enough"
    assert said(run, ends_later) == "error: enough"
    assert said(run, Tool(ends, timeout_seconds=50)) == "error: enough"


def test_calls_are_answered_beside_each_other(run: Run) -> None:
    lock, now, most = threading.Lock(), 0, 0

    def hold() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1

    code = """
import asyncio
async def main():
    await asyncio.gather(*(tools.hold() for _ in range(12)))
asyncio.run(main())
print("done")"""
    assert run(code, tools={"hold": hold}, tools_at_once=3).stdout == "done\n"
    assert most == 3


def test_a_tool_that_takes_too_long_is_told_so(run: Run) -> None:
    released = threading.Event()
    assert said(run, Tool(released.wait, arguments={}, timeout_seconds=0.1)) == "error: the tool took longer than 0.1 s"
    released.set()


def test_a_tool_runs_only_if_whoever_approves_says_so(run: Run) -> None:
    asked: list[ToolCall] = []
    code = """
for n in range(3):
    try:
        print(tools.it(n=n))
    except tools.ToolError as error:
        print(error)"""

    def approve(call: ToolCall) -> object:
        asked.append(call)
        return [True, False, "not today"][len(asked) - 1]

    def same(n: int) -> int:
        return n

    result = run(code, tools={"it": same}, approve=approve)
    assert result.stdout == "0\nthis call was not approved\nnot today\n"
    assert [(each.tool, each.arguments) for each in asked] == [("it", {"n": n}) for n in range(3)]


@pytest.mark.parametrize("raised", [ValueError("nobody is there"), SystemExit("nobody is there")])
def test_an_error_of_whoever_approves_ends_the_run(run: Run, service: Service, api_key: str, raised: BaseException) -> None:
    def approve(call: ToolCall) -> object:
        raise raised

    with pytest.raises(type(raised), match="nobody is there"):
        run("tools.it()", tools={"it": lambda: 1}, approve=approve)
    with Client(service.url, api_key) as client:
        (job,) = client.jobs()
        assert client.wait(job["job_id"]).status == "cancelled"


def test_a_run_ends_with_its_program_though_a_tool_hangs(run: Run) -> None:
    released = threading.Event()
    result = run("print(1)\ntools.it()", tools={"it": released.wait}, limits={"wall_seconds": 1})
    assert (result.stdout, [each["type"] for each in result.violations]) == ("1\n", ["wall_time"])
    released.set()


def test_a_cancelled_run_cancels_its_tools_and_its_job(service: Service, api_key: str) -> None:
    ended: list[str] = []

    async def main() -> None:
        begun = asyncio.Event()

        async def hang() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append("tool")
                raise

        async with AsyncClient(service.url, api_key) as client:
            task = asyncio.create_task(client.run("tools.it()", tools={"it": hang}))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            jobs = [job async for job in client.jobs()]
            assert (await client.wait(jobs[0]["job_id"])).status == "cancelled"

    asyncio.run(main())
    assert ended == ["tool"]


def test_a_job_that_was_submitted_before_has_tools_run_only_for_calls_that_are_open(service: Service, api_key: str) -> None:
    ran: list[int] = []

    def note(n: int) -> str:
        ran.append(n)
        return "now"

    body: Any = {
        "language": "python",
        "code": "print(tools.it(n=1), tools.it(n=2))",
        "outputs": ["output/**"],
        "tools": [{"name": "it"}],
    }
    with Client(service.url, api_key) as client:
        stored = client.submit(body, idempotency_key="again")
        page = client.tool_calls(stored.job_id, wait_seconds=50)
        taken = client.answer_tool_call(stored.job_id, page["calls"][0]["seq"], {"result": "before"})
        again = client.answer_tool_call(stored.job_id, page["calls"][0]["seq"], {"result": "before"})
        assert (taken["replayed"], again) == (False, {**taken, "replayed": True})
        result = client.run(body, idempotency_key="again", tools={"it": note})
        assert (result.job_id, result.stdout, ran) == (stored.job_id, "before now\n", [2])
        assert client.tool_calls(stored.job_id)["next_cursor"] is None


TWICE = "for n in range(2):\n    print(tools.next(n=n))"


def asking(code: str) -> JobSubmission:
    return {"language": "python", "code": code, "tools": [{"name": "next"}], "limits": {"wall_seconds": 60}}


def saying(word: str) -> Callable[[int], str]:
    return lambda n: f"{word} {n}"


@pytest.fixture(params=["Client", "AsyncClient"])
def answer(request: pytest.FixtureRequest, service: Service, api_key: str) -> Callable[..., None]:
    def answered(job_id: str, **options: Any) -> None:
        if request.param == "Client":
            with Client(service.url, api_key) as client:
                return client.answer_tool_calls(job_id, **options)

        async def main() -> None:
            async with AsyncClient(service.url, api_key) as client:
                await client.answer_tool_calls(job_id, **options)

        asyncio.run(main())

    return answered


def test_anybody_may_answer_a_submitted_job_where_nobody_has_answered_yet(
    answer: Callable[..., None], service: Service, api_key: str
) -> None:
    def approve(call: ToolCall) -> object:
        if call.arguments["n"] == 1:
            raise ValueError("whoever approves has left")
        return True

    with Client(service.url, api_key) as client:
        job_id = client.submit(asking(TWICE)).job_id
        with pytest.raises(ValueError, match="has left"):
            answer(job_id, tools={"next": saying("first")}, approve=approve)
        answer(job_id, tools={"next": saying("second")})
        assert client.result(job_id).stdout == "first 0\nsecond 1\n"
        answer(job_id, tools={})


def test_a_job_that_was_submitted_is_answered_from_a_history(
    answer: Callable[..., None], service: Service, api_key: str
) -> None:
    with Client(service.url, api_key) as client:
        first = client.run(asking(TWICE), tools={"next": saying("then")})
        events = list(client.follow(first.job_id))
        again = client.submit(asking(TWICE)).job_id
        answer(again, replay=events)
        assert client.result(again).stdout == first.stdout == "then 0\nthen 1\n"
        other = client.submit(asking("tools.next(n=7)")).job_id
        with pytest.raises(EvidenceFailure, match="call 1 is"):
            answer(other, replay=events)
        client.cancel(other)


def test_a_name_that_the_service_does_not_take_is_refused(run: Run) -> None:
    with pytest.raises(InvalidRequest):
        run("", tools={"no name": lambda: 1})


class Filter(TypedDict):
    field: str
    values: NotRequired[list[str]]
    inner: NotRequired[Filter]


def test_type_hints_are_a_schema() -> None:
    def search(
        query: Annotated[str, "what to look for"],
        limit: int = 3,
        weight: float | None = None,
        kinds: list[Literal["page", "file"]] = [],
        counts: dict[str, int] = {},
        where: Filter | None = None,
        anything: Any = None,
        *rest: str,
        **more: str,
    ) -> None:
        """Finds pages.

        By their words.
        """

    filtered = {
        "type": "object",
        "properties": {"field": {"type": "string"}, "values": {"type": "array", "items": {"type": "string"}}, "inner": {}},
        "required": ["field"],
    }
    assert Tool(search).described_as("search") == {
        "name": "search",
        "description": "Finds pages.",
        "arguments": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "what to look for"},
                "limit": {"type": "integer"},
                "weight": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                "kinds": {"type": "array", "items": {"enum": ["page", "file"]}},
                "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
                "where": {"anyOf": [filtered, {"type": "null"}]},
                "anything": {},
            },
            "additionalProperties": True,
            "required": ["query"],
        },
    }


def test_a_function_that_cannot_be_called_by_names_has_no_schema() -> None:
    def by_place(query: str, /) -> None: ...

    assert [arguments_schema(len), arguments_schema(by_place)] == [None, None]


def test_an_object_that_can_be_called_is_a_tool(run: Run) -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        def __call__(self, by: int) -> int:
            self.count += by
            return self.count

    assert run("print(tools.it(by=2), tools.it(by=3))", tools={"it": Counter()}).stdout == "2 5\n"


SUMS = "for n in range(3):\n    print(tools.add(a=n, b=1))"


def events_of(service: Service, api_key: str, job_id: str) -> list[Event]:
    with Client(service.url, api_key) as client:
        return list(client.follow(job_id))


def test_a_transcript_answers_the_calls_of_a_second_run(run: Run, service: Service, api_key: str) -> None:
    def add(a: int, b: int) -> int:
        if a == 2:
            raise ValueError("too large")
        return a + b

    code = """
for given in ({"a": 1, "b": 2}, {"a": 2, "b": 2}, {"a": "x", "b": 1}):
    try:
        print(tools.add(**given))
    except tools.ToolError as error:
        print(error)"""
    first = run(code, tools={"add": add})
    assert first.stdout.startswith("3\ntoo large\nthe arguments do not fit")

    def never(a: int, b: int) -> int:
        raise AssertionError("a tool ran")

    again = run(code, tools={"add": never}, replay=events_of(service, api_key, first.job_id))
    assert again.stdout == first.stdout


def test_answers_are_given_in_the_order_in_which_they_were(run: Run, service: Service, api_key: str) -> None:
    code = """
import asyncio
async def main():
    calls = {asyncio.ensure_future(getattr(tools, name)()): name for name in ("slow", "quick")}
    done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    print([calls[call] for call in done])
    await tools.release()
    await asyncio.wait(calls)
asyncio.run(main())"""
    released = threading.Event()

    def slow() -> None:
        released.wait(30)

    def quick() -> None:
        return

    first = run(code, tools={"slow": slow, "quick": quick, "release": released.set})
    assert first.stdout == "['quick']\n"
    assert run(code, replay=events_of(service, api_key, first.job_id)).stdout == first.stdout


THREADS = """
import asyncio
async def main():
    return await asyncio.gather(*(tools.double(n=n) for n in %s))
print(sorted(asyncio.run(main())), tools.double(n=%s))"""


def test_calls_that_were_open_at_once_may_come_in_another_order(run: Run, service: Service, api_key: str) -> None:
    all_open = threading.Barrier(4)

    def double(n: int) -> int:
        if n < 4:
            all_open.wait(60)
        return 2 * n

    first = run(THREADS % ("range(4)", 4), tools={"double": double})
    events = events_of(service, api_key, first.job_id)
    again = run(THREADS % ("(2, 0, 3, 1)", 4), replay=events)
    assert again.stdout == first.stdout == "[0, 2, 4, 6] 8\n"
    with pytest.raises(EvidenceFailure, match="call 2 is .*:4}.*, or one of 2 others that were open then"):
        run(THREADS % ("(3, 4)", 0), replay=events)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (SUMS.replace("b=1", "b=n or 1"), "call 3 is {"),
        (SUMS.replace("3", "4"), "call 4 is {"),
        (SUMS.replace("3", "2"), "the program ended before call 3 of the transcript, {"),
    ],
    ids=["other arguments", "a call more", "a call less"],
)
def test_the_first_call_that_differs_ends_the_run(
    run: Run, service: Service, api_key: str, code: str, message: str
) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    first = run(SUMS, tools={"add": add})
    with pytest.raises(EvidenceFailure) as caught:
        run(code, replay=events_of(service, api_key, first.job_id))
    assert caught.value.check == "transcript"
    assert str(caught.value).startswith(f"transcript: {message}")
    assert caught.value.job_id is not None
