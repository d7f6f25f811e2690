"""Gradings: hidden tests, one verdict, and what is refused before any job."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from service import Service
from vectors import own_cases
from vouchbox import AsyncClient, Checker, Client, GradeTest, GradingNotFound
from vouchbox.contract import JobSubmission
from vouchbox.grade_input import compiler_problem

MIB = 1024 * 1024


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
        assert len(list(client.jobs())) == 4
    assert told == ["small 0", "wrong 0", "broken 1"]
    assert [test["verdict"] for test in graded.verdict["tests"]] == ["accepted", "wrong_answer", "runtime_error"]
    assert (graded.verdict["accepted"], graded.verdict["points"], graded.verdict["points_max"]) == (False, 2, 4)


def test_a_checker_judges_the_output_of_each_test(service: Service, api_key: str) -> None:
    checker = Checker("python", "raise SystemExit(open('input/output').read() != open('input/stdin').read())")

    async def main() -> list[str]:
        async with AsyncClient(service.url, api_key) as client:
            tests = [GradeTest(name=text, stdin=text) for text in ("a", "b")]
            graded = await client.grade("print('a', end='')", tests=tests, checker=checker)
            return [test["verdict"] for test in graded.verdict["tests"]]

    assert asyncio.run(main()) == ["accepted", "wrong_answer"]


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ([], "at least one test"),
        ([GradeTest(name="one"), GradeTest(name="one")], "same name: one"),
        ([GradeTest(name="a"), GradeTest(name="b", stdin="x" * (MIB + 1))], "^test b: its input has 1048577 bytes; at most"),
        ([GradeTest(name="a", args=["1"] * 65)], "^test a: it has 65 arguments; at most 64"),
        ([GradeTest(name="a", args=["é" * 2049])], "^test a: an argument has 4098 bytes"),
        ([GradeTest(name="a", args=["1" * 4096] * 9)], "^test a: its arguments together have 36864 bytes"),
        ([GradeTest(name="a", files={"big": bytes(2 * MIB + 1)})], "^test a: big has 2097153 bytes"),
        ([GradeTest(name="a", files={n: bytes(2 * MIB) for n in "abc"})], "^test a: its files together have 6291456 bytes"),
        ([GradeTest(name="a", expected="x" * (MIB + 1))], "^test a: what is expected has 1048577 bytes"),
        ([GradeTest(name="a", expected="x\n" * 10_001)], "^test a: what is expected has 10001 lines; at most 10000"),
        ([GradeTest(name=str(n), expected="x" * MIB) for n in range(40)], "at most 67108864 can be judged together"),
        ([GradeTest(name="a", points=float("nan"))], "^test a: its points"),
        ([GradeTest(name="a", expected="\ud800")], "^test a: .* no UTF-8 form"),
    ],
)
def test_a_grading_that_cannot_be_made_is_refused_before_any_job(
    service: Service, api_key: str, tests: list[GradeTest], message: str
) -> None:
    with Client(service.url, api_key) as client:
        with pytest.raises(ValueError, match=message):
            client.grade("print(1)", tests=tests)
        assert list(client.jobs()) == []


def test_a_program_with_an_interactor_is_refused_before_any_job(service: Service, api_key: str) -> None:
    program: JobSubmission = {
        "language": "python",
        "code": "input()",
        "interactor": {"language": "python", "code": "print(1)"},
    }
    with Client(service.url, api_key) as client:
        with pytest.raises(ValueError, match="^the program has an interactor"):
            client.grade(program, tests=[GradeTest(name="one")])
        assert list(client.jobs()) == []


@pytest.mark.parametrize(("code", "message"), [("", "is empty"), ("#" * (MIB + 1), "has 1048577 bytes; at most 1048576")])
def test_a_program_of_a_wrong_size_is_refused_before_any_job(service: Service, api_key: str, code: str, message: str) -> None:
    with Client(service.url, api_key) as client, pytest.raises(ValueError, match=f"^the program {message}"):
        client.grade(code, tests=[GradeTest(name="one")])


def test_outputs_that_are_together_larger_than_a_file_are_judged(service: Service, api_key: str) -> None:
    tests = [GradeTest(name=name, expected="x" * 450_000) for name in "abc"]
    with Client(service.url, api_key) as client:
        graded = client.grade("print('x' * 450000)", tests=tests)
    assert (graded.verdict["points"], graded.not_run) == (3, {})


def test_a_whole_output_is_judged_if_only_stderr_is_cut(service: Service, api_key: str) -> None:
    code = "import sys; print(3); sys.stderr.write('x' * (2 << 20))"
    with Client(service.url, api_key) as client:
        graded = client.grade(code, tests=[GradeTest(name="one", expected="3")])
    assert graded.verdict["accepted"] is True


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
def test_the_end_of_a_compiler_is_read_as_everywhere(case: dict[str, Any]) -> None:
    assert compiler_problem(case["terminal_reason"], case["violations"], case["stderr"]) == case["problem"]
