"""The verdict of a grading, as far as it can be what the judge made of what it was given.

Jobs, names, points and digests are those that this grading knows: of the document only the word of each test is taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, cast

from .canonical_json import sha256_hex
from .failures import TransportFailure
from .strict_json import parse_strict

VERDICT_SCHEMA: Final = "urn:svc:verdict:v1"
WORDS: Final = frozenset(
    "accepted wrong_answer time_limit memory_limit runtime_error compile_error output_limit checker_failed not_run".split()
)


def verdict_of(data: bytes, grading: Mapping[str, Any]) -> Mapping[str, Any]:
    """The verdict. Raises `TransportFailure` for a document that the judge cannot have made of this grading."""
    try:
        said = parse_strict(data)
        lines = cast("list[dict[str, Any]]", cast("dict[str, Any]", said)["tests"])
        words = [str(line["verdict"]) for line in lines]
    except (ValueError, TypeError, KeyError) as error:
        raise TransportFailure("undecodable", "the verdict has not its form") from error
    if len(words) != len(grading["tests"]) or not WORDS.issuperset(words):
        raise TransportFailure("undecodable", "the verdict has not one word for each test")
    tests = [_line(test, word) for test, word in zip(grading["tests"], words, strict=True)]
    verdict: dict[str, Any] = {
        "schema": VERDICT_SCHEMA,
        "program": grading["program"],
        "accepted": all(word == "accepted" for word in words),
        "points": math.fsum(test["points"] for test in tests),
        "points_max": math.fsum(test["points_max"] for test in tests),
        "tests": tests,
    }
    if not _is_same(said, verdict):
        raise TransportFailure("undecodable", "the verdict is not about this grading")
    return cast("Mapping[str, Any]", said)


def _line(test: Mapping[str, Any], word: str) -> dict[str, Any]:
    return {
        "name": test["name"],
        "verdict": word,
        "points": test["points"] if word == "accepted" else 0,
        "points_max": test["points"],
        "job_id": test["job_id"],
        "receipt_sha256": test["receipt_sha256"],
        "stdout_sha256": sha256_hex(test["stdout"].encode()),
        "expected_sha256": None if test["expected"] is None else sha256_hex(test["expected"].encode()),
        "checker": test["checker"],
    }


def _is_same(said: Any, made: Mapping[str, Any]) -> bool:
    """Sums of points may differ in their last digits, by the order in which they were added."""
    sums = ("points", "points_max")
    if not isinstance(said, dict):
        return False
    given = cast("dict[str, Any]", said)
    if given.keys() != made.keys():
        return False
    if not all(isinstance(given[name], int | float) and math.isclose(given[name], made[name], rel_tol=1e-6) for name in sums):
        return False
    return all(given[name] == made[name] for name in made if name not in sums)
