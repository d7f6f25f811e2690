"""Gradings: hidden tests, one verdict, and what is refused before any job is made."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from fault_proxy import FaultProxy
from service import Service
from vectors import own_cases
from vouchbox import (
    AsyncClient,
    Checker,
    Client,
    GradeResult,
    GradeTest,
    GradingNotFound,
    InvalidRequest,
    PayloadTooLarge,
    Retry,
    RunResult,
    TransportFailure,
    grade_input,
)
from vouchbox.compiler_end import compiler_problem
from vouchbox.contract import JobSubmission
from vouchbox.verdict import GradingJobs, verdict_of

MIB = 1024 * 1024


def words_of(graded: GradeResult) -> list[str]:
    return [test["verdict"] for test in graded.verdict["tests"]]


def test_a_program_is_graded_by_tests_that_it_does_not_see(service: Service, api_key: str) -> None:
    told: list[str] = []
    with Client(service.url, api_key) as client:
        graded = client.grade(
            "print(sum(map(int, input().split())))",
            tests=[
                GradeTest(name="small", stdin="1 2", expected="3", points=2),
                GradeTest(name="wrong", stdin="1 1", expected="3\n"),
                GradeTest(name="broken", stdin="one", expected="1"),
            ],
            limits={"wall_seconds": 5},
            on_test=lambda name, ran: told.append(f"{name} {ran.exit_code}"),
        )
        assert client.result(graded.job_id).files["output/verdict.json"] == graded.data
        assert {job["job_id"] for job in client.jobs()} == {*graded.jobs, graded.job_id}
        events = list(client.grading_events(graded.grading_id))
        assert [event["kind"] for event in events] == [*["job"] * 4, "program", "finished"]
        assert list(client.grading_events(graded.grading_id, after=4)) == events[4:]
        assert [item["grading_id"] for item in client.gradings()] == [graded.grading_id]
    assert sorted(told) == ["broken 1", "small 0", "wrong 0"]
    assert graded.verdict["schema"] == "urn:svc:verdict:v2"
    assert words_of(graded) == ["accepted", "wrong_answer", "runtime_error"]
    assert all(test["run"]["wall_ms"] > 0 for test in graded.verdict["tests"])
    assert (graded.verdict["accepted"], graded.verdict["points"], graded.verdict["points_max"]) == (False, 2, 4)


def test_a_test_has_its_own_input_or_that_of_the_whole_submission(service: Service, api_key: str) -> None:
    code = "import os, sys; print(sys.argv[1], os.environ['V'], os.environ.get('W'), input(), *sorted(os.listdir('input')))"
    program: JobSubmission = {"language": "python", "code": code, "stdin": "in", "args": ["all"], "env": {"V": "v"}}
    tests = [
        GradeTest(name="one", expected="all v None in"),
        GradeTest(name="two", stdin="own", args=["arg"], env={"W": "w"}, files={"f": b"\xff"}, expected="arg v w own f"),
    ]
    with Client(service.url, api_key) as client:
        assert words_of(client.grade(program, tests=tests)) == ["accepted"] * 2


def test_a_checker_judges_the_output_of_each_test(service: Service, api_key: str) -> None:
    code = """import os, sys
is_right = sys.stdin.read() == open("input/stdin").read() + sys.argv[-1]
raise SystemExit(int(open("input/right").read() if is_right else os.environ["WRONG"]))"""
    checker = Checker("python", code, codes="kattis", args=["!"], files={"right": "42"}, env={"WRONG": "43"})

    async def main() -> GradeResult:
        async with AsyncClient(service.url, api_key) as client:
            tests = [
                GradeTest(name="a", stdin="a"),
                GradeTest(name="b", stdin="b"),
                GradeTest(name="c", stdin="", checker_args=["a!"]),
            ]
            return await client.grade("print('a!', end='')", tests=tests, checker=checker)

    graded = asyncio.run(main())
    assert words_of(graded) == ["accepted", "wrong_answer", "accepted"]
    assert len(graded.jobs) == 6


def test_an_interactor_talks_to_the_program_and_judges(service: Service, api_key: str) -> None:
    code = "print(open('input/stdin').read(), flush=True)\nraise SystemExit(input() != open('input/expected').read())"
    tests = [GradeTest(name="even", stdin="7", expected="8"), GradeTest(name="odd", stdin="7", expected="9")]
    own: JobSubmission = {
        "language": "python",
        "code": "print(int(input()) + 1)",
        "interactor": {"language": "python", "code": code, "outputs": ["output/notes"]},
    }
    with Client(service.url, api_key) as client:
        given = client.grade(own["code"], tests=tests, interactor=Checker("python", code))
        for graded in (given, client.grade(own, tests=tests)):
            assert words_of(graded) == ["accepted", "wrong_answer"]
            assert len(graded.jobs) == 4
            judges = {test["check"]["job_id"] for test in graded.verdict["tests"]}
            assert judges < set(graded.jobs) <= {job["job_id"] for job in client.jobs()}


def test_groups_validators_and_tolerances_count_as_the_contract_says(service: Service, api_key: str) -> None:
    tests = [
        GradeTest(name="a", group="parts", stdin="1", expected="1.0", points=0.1),
        GradeTest(name="b", group="parts", stdin="1", expected="1.0", points=0.2),
        GradeTest(name="c", group="parts", stdin="1", expected="1.04", compare={"floats": {"absolute": 0.05}}, points=0.3),
        GradeTest(name="d", group="least", stdin="2", expected="2.0"),
        GradeTest(name="e", group="least", stdin="3", expected="4"),
        GradeTest(name="f", group="least", stdin="4", expected="4.0"),
        GradeTest(name="g", group="last", stdin="5", expected="5.0"),
        GradeTest(name="h", group="wrong", stdin="x", expected="x"),
    ]
    with Client(service.url, api_key) as client:
        graded = client.grade(
            "print(float(input()))",
            tests=tests,
            validators=[Checker("python", "float(input())")],
            groups=[
                {"name": "parts"},
                {"name": "least", "score": "minimum", "points": 7, "stop": True},
                {"name": "last", "after": ["least"]},
                {"name": "wrong"},
            ],
        )
    assert words_of(graded) == [*["accepted"] * 4, "wrong_answer", "skipped", "skipped", "invalid_input"]
    assert [group["points"] for group in graded.verdict["groups"]] == [0.1 + 0.2 + 0.3, 0, 0, 0]
    assert graded.verdict["points_max"] == 0.1 + 0.2 + 0.3 + 7 + 1 + 1


def test_a_checker_gives_part_of_the_points_and_a_grading_stops(service: Service, api_key: str) -> None:
    code = "import sys; n = open('input/output').read().strip(); print('points', n, file=sys.stderr); raise SystemExit(7)"
    tests = [GradeTest(name=n, stdin=n, points=2) for n in ("0.5", "2", "0", "1")]
    with Client(service.url, api_key) as client:
        graded = client.grade("print(input())", tests=tests, checker=Checker("python", code), stop=True)
    assert words_of(graded) == ["partial", "accepted", "wrong_answer", "skipped"]
    assert graded.verdict["points"] == 2.5


@pytest.mark.parametrize(
    ("tests", "failure", "message"),
    [
        ([], InvalidRequest, "/tests"),
        ([GradeTest(name="one"), GradeTest(name="one")], InvalidRequest, "same name: one"),
        ([GradeTest(name="a", args=["1"] * 65)], InvalidRequest, "/tests/0/args"),
        ([GradeTest(name="a"), GradeTest(name="b", stdin="x" * (64 * MIB + 1))], ValueError, "67108865 bytes; at most 67108864"),
        ([GradeTest(name="a", files={str(n): bytes(MIB * 7 // 10) for n in range(6)})], PayloadTooLarge, "/tests/0/files"),
        ([GradeTest(name="a", group="of none")], InvalidRequest, "group"),
        ([GradeTest(name="a", points=float("nan"))], ValueError, "JSON"),
        ([GradeTest(name="a", expected="\ud800")], ValueError, "surrogates"),
    ],
)
def test_a_grading_that_cannot_be_made_is_refused_before_any_job(
    service: Service, api_key: str, tests: list[GradeTest], failure: type[Exception], message: str
) -> None:
    with Client(service.url, api_key) as client:
        with pytest.raises(failure, match=message):
            client.grade("print(1)", tests=tests, groups=[{"name": "g"}] if tests and tests[0].group else None)
        assert list(client.jobs()) == []
        assert list(client.gradings()) == []
        assert client.runs.open == 0


def test_a_grading_whose_service_stays_away_is_named_by_the_error(
    proxy: FaultProxy, service: Service, api_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy.add({"on": "GET /v1/gradings/{id}", "count": 999, "fault": "cut_request"})
    retry = Retry(attempts_max=2, patience_seconds=30)
    pauses: list[float] = []
    with Client(proxy.url, api_key, retry=retry) as client, monkeypatch.context() as patch:
        patch.setattr("vouchbox.client.time.sleep", pauses.append)
        with pytest.raises(TransportFailure) as failure:
            client.grade("print(1)", tests=[GradeTest(name="a", expected="1")])
    assert failure.value.grading_id is not None
    assert len(proxy.requests("GET /v1/gradings/{id}")) > 4
    with Client(service.url, api_key) as client:
        found = client.wait_for_grading(failure.value.grading_id)
    assert found["graded"][0]["verdict"]["accepted"]


def test_a_grading_whose_callback_fails_with_an_error_of_another_service_is_cancelled(
    proxy: FaultProxy, api_key: str
) -> None:
    error = TransportFailure("network", "the service of the caller is away")

    def fail(_name: str, _ran: RunResult) -> None:
        raise error

    with Client(proxy.url, api_key) as client, pytest.raises(TransportFailure) as failure:
        client.grade("print(1)", tests=[GradeTest(name="a", expected="1")], on_test=fail)
    assert (failure.value, error.grading_id) == (error, None)
    assert len(proxy.requests("DELETE /v1/gradings/{id}")) == 1


def test_a_program_with_libraries_is_refused_by_their_name(service: Service, api_key: str) -> None:
    program: JobSubmission = {"language": "python", "code": "", "libraries": {"blob": "sha256:" + "0" * 64}}
    with Client(service.url, api_key) as client:
        with pytest.raises(ValueError, match="takes no libraries"):
            client.grade(program, tests=[GradeTest(name="a")])
        assert list(client.gradings()) == []


def test_texts_and_files_that_one_request_cannot_hold_are_uploaded(service: Service, api_key: str) -> None:
    uploads: list[str] = []

    def note(request: httpx.Request) -> None:
        uploads.extend([request.url.path] if request.method == "PUT" else [])

    files = {"f": bytes([255]) * (MIB // 2)}
    tests = [GradeTest(name=str(n), stdin="x" * (n + MIB // 2), expected="y" * (n + MIB // 2), files=files) for n in range(12)]
    code = "print('y' * len(input()) if open('input/f', 'rb').read(1) == b'\\xff' else 'n')"
    with httpx.Client(event_hooks={"request": [note]}) as http, Client(service.url, api_key, http=http) as client:
        graded = client.grade(code, tests=tests)
    assert (graded.verdict["points"], graded.not_run) == (12, {})
    assert len(uploads) == 1, "all tests have the same file"


def test_a_test_may_be_larger_than_the_files_that_a_job_may_send(service: Service, api_key: str) -> None:
    text = "x\n" * (3 * MIB // 2)
    test = GradeTest(name="one", stdin=text, expected=text, files={"f": text})
    with Client(service.url, api_key) as client:
        graded = client.grade("cmp input/f - && cat input/f", language="bash", tests=[test])
    assert words_of(graded) == ["accepted"]


def test_gradings_that_expect_the_same_do_not_take_uploads_from_each_other(
    service: Service, api_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grade_input, "SENT_BYTES_MAX", 0)
    asked: list[str] = []

    def grade(client: Client) -> GradeResult:
        return client.grade("print(input())", tests=[GradeTest(name="one", stdin="same", expected="same\n")])

    def interfere(request: httpx.Request) -> None:
        """Makes another grading after the first grading's uploads and before its request."""
        if request.method == "POST":
            asked.append(request.url.path)
            if len(asked) == 1:
                with Client(service.url, api_key) as other:
                    assert grade(other).verdict["accepted"]

    with httpx.Client(event_hooks={"request": [interfere]}) as http, Client(service.url, api_key, http=http) as client:
        assert grade(client).verdict["accepted"]
    assert asked == ["/v1/gradings"] * 2


def test_a_whole_output_is_judged_if_only_stderr_is_cut(service: Service, api_key: str) -> None:
    code = "import sys; print(3); sys.stderr.write('x' * (2 << 20))"
    with Client(service.url, api_key) as client:
        graded = client.grade(code, tests=[GradeTest(name="one", expected="3")])
    assert graded.verdict["accepted"] is True


def test_a_test_that_was_cancelled_is_told_with_the_reason(service: Service, api_key: str) -> None:
    tests = [GradeTest(name="a", stdin="0", expected=""), GradeTest(name="b", stdin="300", expected="")]

    async def main() -> GradeResult:
        async with AsyncClient(service.url, api_key) as client:

            async def end_the_other(name: str, _ran: object) -> None:
                while name == "a":
                    async for job in client.jobs(status="running"):
                        await client.cancel(job["job_id"])
                        return

            code = "import time; time.sleep(int(input()))"
            return await client.grade(code, tests=tests, limits={"wall_seconds": 300}, on_test=end_the_other)

    graded = asyncio.run(main())
    assert words_of(graded) == ["accepted", "not_run"]
    assert graded.not_run["b"] == f"{graded.verdict['tests'][1]['run']['job_id']} ended as cancelled: cancelled"


def test_what_a_callback_raises_cancels_the_grading(service: Service, api_key: str) -> None:
    tests = [GradeTest(name=text, stdin=text) for text in ("0", "300")]
    with Client(service.url, api_key) as client:
        with pytest.raises(ZeroDivisionError):
            client.grade(
                "import time; time.sleep(int(input()))",
                tests=tests,
                limits={"wall_seconds": 300},
                on_test=lambda _name, _ran: 1 / 0,
            )
        [grading] = client.gradings()
        assert client.wait_for_grading(grading["grading_id"])["status"] == "cancelled"


@pytest.mark.parametrize("held", ["POST /v1/gradings", "GET /v1/gradings/{id}"])
def test_a_grading_whose_task_is_cancelled_is_cancelled(proxy: FaultProxy, service: Service, api_key: str, held: str) -> None:
    async def main() -> str:
        loop = asyncio.get_running_loop()
        async with AsyncClient(proxy.url, api_key) as client:
            sleeping = client.grade("sleep 300", language="bash", tests=[GradeTest(name="one")], limits={"wall_seconds": 300})
            grading = asyncio.create_task(sleeping)

            def cancel(_operation: str) -> None:
                loop.call_soon_threadsafe(grading.cancel)

            proxy.on_held = cancel
            proxy.add({"on": held, "fault": "hold_answer"})
            with pytest.raises(asyncio.CancelledError):
                await grading
            (stored,) = [item async for item in client.gradings()]
            return (await client.wait_for_grading(stored["grading_id"]))["status"]

    assert asyncio.run(main()) == "cancelled"


def test_lost_answers_and_a_service_that_is_busy_change_nothing(proxy: FaultProxy, api_key: str) -> None:
    busy = {"status": 503, "code": "worker_unavailable", "retry_after": 0}
    full = {"status": 429, "code": "queue_full", "retry_after": 0}
    proxy.add({"on": "POST /v1/gradings", "answer": full})
    proxy.add({"on": "POST /v1/gradings", "fault": "cut_answer"})
    proxy.add({"on": "GET /v1/gradings/{id}", "answer": busy})
    proxy.add({"on": "GET /v1/gradings/{id}/events", "fault": "truncate_answer"})
    with Client(proxy.url, api_key, retry=Retry(base_seconds=0.001)) as client:
        assert client.grade("print(1)", tests=[GradeTest(name="one", expected="1")]).verdict["accepted"]
        assert len(list(client.gradings())) == 1
    assert len({request.key for request in proxy.requests("POST /v1/gradings")}) == 1


def test_a_service_that_has_no_gradings_is_told(proxy: FaultProxy, api_key: str) -> None:
    proxy.add({"on": "POST /v1/gradings", "answer": {"status": 404, "code": "route_not_found"}})
    with Client(proxy.url, api_key) as client, pytest.raises(TransportFailure, match="too old for gradings"):
        client.grade("print(1)", tests=[GradeTest(name="one")])


def test_a_grading_without_a_verdict_is_told_with_its_problem(proxy: FaultProxy, api_key: str) -> None:
    proxy.add({"on": "GET /v1/gradings/{id}", "replace": ['"problem":null', '"problem":"why"'], "count": 9})
    proxy.add({"on": "GET /v1/gradings/{id}/events", "replace": ['"kind":"job"', '"kind":"other"'], "count": 9})
    with Client(proxy.url, api_key) as client, pytest.raises(TransportFailure, match="gave no verdict: why"):
        client.grade("print(1)", tests=[GradeTest(name="one")])


def test_many_gradings_at_once_wait_for_their_turn(service: Service, api_key: str) -> None:
    async def main() -> list[GradeResult]:
        async with AsyncClient(service.url, api_key) as client:
            tests = [GradeTest(name="one", stdin="1", expected="1")]
            return await asyncio.gather(*(client.grade("cat", language="bash", tests=tests) for _ in range(30)))

    assert all(graded.verdict["accepted"] for graded in asyncio.run(main()))


SENT: dict[str, Any] = {
    "verdict": "urn:svc:verdict:v2",
    "programs": [{"language": "python", "code": "print(input())"}],
    "tests": [
        {"name": "a", "stdin": "1", "expected": "1", "compare": "lines", "points": 1, "group": "x"},
        {"name": "b", "stdin": "2", "expected": "3", "compare": "lines", "points": 2, "group": "x"},
        {"name": "c", "compare": "lines", "points": 4, "group": "y"},
    ],
    "groups": [{"name": "x"}, {"name": "y", "after": ["x"]}],
    "validators": [{"language": "python", "code": "input()"}],
}


@pytest.fixture(scope="module")
def judged(service: Service) -> tuple[bytes, GradingJobs]:
    """A real verdict and the grading's jobs."""
    with Client(service.url, "key-of-tenant199") as client:
        grading_id = client.submit_grading(SENT)["grading_id"]
        found = client.wait_for_grading(grading_id)
        jobs = GradingJobs()
        for event in client.grading_events(grading_id):
            if event["kind"] == "job":
                jobs.ids[event["data"]["job_id"]] = None
                if event["data"]["name"].startswith("test "):
                    jobs.tests[event["data"]["test"]] = event["data"]["job_id"]
        return client.result(found["graded"][0]["verdict"]["job_id"]).files["output/verdict.json"], jobs


def put(value: Any, *path: str | int) -> Callable[[Any], None]:
    def change(verdict: Any) -> None:
        for name in path[:-1]:
            verdict = verdict[name]
        verdict[path[-1]] = value

    return change


def test_the_verdict_of_the_judge_is_believed(judged: tuple[bytes, GradingJobs]) -> None:
    data, jobs = judged
    assert [test["verdict"] for test in verdict_of(data, SENT, jobs)["tests"]] == ["accepted", "wrong_answer", "skipped"]


@pytest.mark.parametrize(
    "change",
    [
        put("urn:svc:verdict:v1", "schema"),
        put("bash", "program", "language"),
        put("0" * 64, "program", "code_sha256"),
        put(True, "accepted"),
        put(1, "accepted"),
        put(7, "points"),
        put(8, "points_max"),
        put([], "tests"),
        put(None, "tests"),
        put(True, "groups", 0, "passed"),
        put("minimum", "groups", 0, "score"),
        put("z", "tests", 0, "name"),
        put("y", "tests", 0, "group"),
        put("words", "tests", 0, "compare"),
        put("splendid", "tests", 1, "verdict"),
        put("not_run", "tests", 2, "verdict"),
        put("skipped", "tests", 1, "verdict"),
        put("partial", "tests", 0, "verdict"),
        put(2, "tests", 1, "points"),
        put(3, "tests", 1, "points_max"),
        put("0" * 64, "tests", 0, "stdin_sha256"),
        put("0" * 64, "tests", 0, "expected_sha256"),
        put("job_other", "tests", 0, "run", "job_id"),
        put("../job", "tests", 0, "run", "job_id"),
        put("1", "tests", 0, "run", "wall_ms"),
        put([], "tests", 0, "validations", 0),
        put("job_other", "tests", 0, "validations", 0, "job_id"),
        put("kattis", "tests", 0, "validations", 0, "codes"),
    ],
)
def test_a_verdict_that_the_judge_cannot_have_made_is_refused(
    judged: tuple[bytes, GradingJobs], change: Callable[[Any], None]
) -> None:
    data, jobs = judged
    verdict = json.loads(data)
    change(verdict)
    with pytest.raises(TransportFailure, match="not one of this grading"):
        verdict_of(json.dumps(verdict).encode(), SENT, jobs)


def test_the_service_grades_many_programs_in_one_request(service: Service, api_key: str) -> None:
    programs = [{"name": name, "language": "python", "code": code} for name, code in (("a", "print(input())"), ("b", "print(0)"))]
    tests = [{"name": "one", "stdin": "1", "expected": "1"}]
    with Client(service.url, api_key) as client:
        sent = client.submit_grading({"programs": programs, "tests": tests}, idempotency_key="once")
        assert client.submit_grading({"programs": programs, "tests": tests}, idempotency_key="once") == sent
        graded = client.wait_for_grading(sent["grading_id"])
        assert [program["verdict"]["points"] for program in graded["graded"]] == [1, 0]
        assert client.cancel_grading(sent["grading_id"])["already_terminal"] is True
        with pytest.raises(GradingNotFound):
            client.grading("grading_x")


@pytest.mark.parametrize("case", own_cases("grading/compiler-ends.json"), ids=lambda case: case["name"])
def test_the_end_of_a_compiler_is_read_as_in_the_service(case: dict[str, Any]) -> None:
    assert compiler_problem(case["terminal_reason"], case["violations"], case["stderr"]) == case["problem"]
