"""Refuses a verdict that the judge cannot have made for the grading that was sent.

The verdict's names, groups, digests and totals must follow from the grading and from each test's verdict, and its jobs must be
the grading's jobs. Each job's outcome is taken as true here; the job's signed record states it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from .answer_check import wrong_in
from .canonical_json import sha256_hex
from .failures import TransportFailure
from .strict_json import parse_strict

VERDICT_SCHEMA: Final = "urn:svc:verdict:v2"
WORDS: Final = frozenset(
    "accepted wrong_answer time_limit memory_limit runtime_error compile_error output_limit checker_failed not_run partial "
    "compile_limit invalid_input skipped".split()
)
_JOB: Final = {"job_id": "j", "receipt_sha256": "s", "terminal_reason": "sz", "exit_code": "iz"}
_TIMES: Final = {"cpu_ms": "nz", "wall_ms": "nz", "memory_peak_bytes": "nz", "account": "sz"}
_RUN: Final = [{**_JOB, "compiler": "sz", **_TIMES}, None]
_CHECK: Final = {**_JOB, "code_sha256": "sz", "codes": "s", "said": [{"kind": "s", "text": "s"}, None]}
_TEST: Final = {
    **{"name": "s", "group": "s", "compare": "", "run": _RUN, "starved": _RUN, "check": [_CHECK, None], "validations": [_CHECK]},
    **{"stdin_sha256": "sz", "stdout_sha256": "sz", "expected_sha256": "sz", "verdict": "s", "points": "n", "points_max": "n"},
}
_GROUP: Final = {"name": "s", "score": "s", "after": ["s"], "stop": "b", "passed": "b", "points": "n", "points_max": "n"}
_FORM: Final = {
    "schema": "s",
    "program": {"language": "s", "code_sha256": "sz", "build": [{**_JOB, "compiler": "sz"}, None]},
    **{"accepted": "b", "points": "n", "points_max": "n", "groups": [_GROUP], "tests": [_TEST]},
}
"""The form of a verdict, in the notation of `answer_check.py`."""


@dataclass(slots=True)
class GradingJobs:
    """The jobs of a grading of one program."""

    tests: dict[str, str] = field(default_factory=dict[str, str])
    """Each test's last job, keyed by the test's name."""
    ids: dict[str, None] = field(default_factory=dict[str, None])
    """The ids of all jobs, in the order in which they ended."""


def verdict_of(data: bytes, sent: Mapping[str, Any], jobs: GradingJobs) -> Mapping[str, Any]:
    """The verdict. Raises `TransportFailure` for a document that the judge cannot have made for this grading."""
    try:
        said: Any = parse_strict(data)
    except ValueError as error:
        raise TransportFailure("undecodable", "the verdict is not JSON") from error
    facts = _facts(said, sent, jobs)
    wrong = wrong_in(said, _FORM, "the whole") or next((name for name, told, known in facts if told != known), None)
    if wrong is not None:
        raise TransportFailure("undecodable", f"the verdict is not one of this grading: {wrong}")
    return said


_Fact = tuple[str, object, object]
"""The name of a fact, what the verdict says about it, and what the verdict must say about it."""


def _facts(said: Mapping[str, Any], sent: Mapping[str, Any], jobs: GradingJobs) -> Iterator[_Fact]:
    program, told, tests = sent["programs"][0], said["program"], said["tests"]
    yield "schema", said["schema"], VERDICT_SCHEMA
    yield "language", told["language"], program["language"]
    yield "code_sha256", told["code_sha256"], _digest(told["code_sha256"], program["code"])
    yield "build", _strangers([told["build"]], jobs), []
    yield "tests", [test["name"] for test in tests], [test["name"] for test in sent["tests"]]
    for test, known in zip(tests, sent["tests"], strict=True):
        for name, one, other in _facts_of_test(test, known, sent, jobs):
            yield f"{name} of test {known['name']}", one, other
    groups = _groups(sent)
    skipped = {test["name"] for test in tests if test["verdict"] == "skipped"}
    yield "skipped tests", skipped, set(_skipped(groups, tests))
    results = [_result(group, _members(group, tests)) for group in groups]
    yield "groups", said["groups"], results
    yield "accepted", said["accepted"], all(result["passed"] for result in results)
    for total in ("points", "points_max"):
        yield total, said[total], _sum(result[total] for result in results)


def _facts_of_test(
    said: Mapping[str, Any], known: Mapping[str, Any], sent: Mapping[str, Any], jobs: GradingJobs
) -> Iterator[_Fact]:
    word, points, most = said["verdict"], said["points"], known["points"]
    yield "verdict", word in WORDS, True
    yield "group", said["group"], known.get("group", _ALL_TESTS)
    yield "compare", said["compare"], known["compare"]
    yield "points_max", said["points_max"], most
    yield "points", points, points if word == "partial" and 0 < points < most else most if word == "accepted" else 0
    yield "run", said["run"] and said["run"]["job_id"], said["run"] and jobs.tests.get(known["name"])
    records = [said["run"], said["starved"], said["check"], *said["validations"]]
    yield "jobs", _strangers(records, jobs), []
    # If none of the grader's programs checks the output, a comparer with Kattis's codes may check it.
    checker = sent.get("checker") or sent.get("interactor") or {"codes": "kattis"}
    yield "check", said["check"] and said["check"]["codes"], said["check"] and checker.get("codes", "testlib")
    validators: list[dict[str, Any]] = sent.get("validators", [])
    codes = [validator.get("codes", "testlib") for validator in validators]
    told = [record["codes"] for record in said["validations"]]
    yield "validations", told, told and codes
    for name in ("stdin", "expected"):
        digest = said[f"{name}_sha256"]
        yield name, digest, _digest(digest, known.get(name, ""))


def _digest(told: str | None, text: str) -> str | None:
    """The digest of a text; None if the verdict has none, because no job was made."""
    return None if told is None else sha256_hex(text.encode())


def _strangers(records: Iterable[Mapping[str, Any] | None], jobs: GradingJobs) -> list[str]:
    """The jobs that are named in records but are not among the grading's jobs."""
    return [record["job_id"] for record in records if record is not None and record["job_id"] not in jobs.ids]


_ALL_TESTS: Final = "all"
"""The one group in a grading without groups."""


def _groups(sent: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The groups with every member filled in."""
    usual: dict[str, Any] = {"score": "sum", "after": [], "stop": False}
    if "groups" not in sent:
        return [{**usual, "name": _ALL_TESTS, "stop": sent.get("stop", False)}]
    return [{**usual, **group} for group in sent["groups"]]


def _members(group: Mapping[str, Any], tests: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [test for test in tests if test["group"] == group["name"]]


def _skipped(groups: Sequence[Mapping[str, Any]], tests: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Tests that are not run: those in a group that waits for a failed group, and those after a test that ended their group."""
    failed: set[str] = set()
    for group in groups:
        is_over = not failed.isdisjoint(group["after"])
        for test in _members(group, tests):
            if is_over:
                yield test["name"]
            if is_over or test["verdict"] != "accepted":
                failed.add(group["name"])
            is_over = is_over or (group["stop"] and test["verdict"] not in ("accepted", "partial"))


def _result(group: Mapping[str, Any], tests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    passed = all(test["verdict"] == "accepted" for test in tests)
    points, most = _sum(test["points"] for test in tests), _sum(test["points_max"] for test in tests)
    if group["score"] == "minimum":
        most = group.get("points", most)
        points = most * min((_part(test) for test in tests), default=1)
    said = {name: group[name] for name in ("name", "score", "after", "stop")}
    return {**said, "passed": passed, "points": points, "points_max": most}


def _part(test: Mapping[str, Any]) -> float:
    if test["verdict"] == "accepted":
        return 1
    return test["points"] / test["points_max"] if test["points_max"] > 0 else 0


def _sum(points: Iterable[float]) -> float:
    """The sum, added from the first to the last as the judge does it. In newer Pythons, `sum` rounds differently."""
    total: float = 0
    for each in points:
        total += each
    return total
