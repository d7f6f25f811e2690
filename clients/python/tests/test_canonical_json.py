"""Tries canonical JSON and the strict reader on vectors that this package did not make."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest

from vectors import OWN, bytes_of, own_cases, published
from vouchbox import canonical_json
from vouchbox.strict_json import DEPTH_MAX, parse_strict

TEXTS: dict[str, list[dict[str, Any]]] = json.loads((OWN / "json/texts.json").read_text())


def named(case: dict[str, Any]) -> str:
    return str(case["name"])


@pytest.mark.parametrize("name", ["arrays", "french", "structures", "unicode", "values", "weird"])
def test_published_texts_have_their_published_form(name: str) -> None:
    value = parse_strict(published(f"jcs/input/{name}.json").read_bytes())
    assert canonical_json(value) == published(f"jcs/output/{name}.json").read_bytes()


def test_ten_thousand_numbers_are_written_as_ecmascript_writes_them() -> None:
    lines = published("jcs/es6-numbers-10000.txt").read_text().split()
    written: list[str] = []
    for line in lines:
        bits = line.split(",")[0]
        (number,) = struct.unpack(">d", bytes.fromhex(bits.zfill(16)))
        written.append(f"{bits},{canonical_json(number).decode()}")
    assert len(lines) == 10_000
    assert written == lines


def test_numbers_are_written_as_ecmascript_writes_them() -> None:
    numbers = [-0.0, 1.0, 1e21, 1e20, 123e18, 1e-7, 1e-6, 0.1, -1.5e300, 2**53, 2**53 + 1, 10**30, 5e-324]
    assert canonical_json(numbers) == (
        b"[0,1,1e+21,100000000000000000000,123000000000000000000,1e-7,0.000001,0.1,-1.5e+300,"
        b"9007199254740992,9007199254740992,1e+30,5e-324]"
    )


def test_members_are_ordered_by_utf16_code_units() -> None:
    assert canonical_json({"\ufb33": 1, "\U0001f600": 2, "b": {"z": 1, "a": True}}) == (
        '{"b":{"a":true,"z":1},"\U0001f600":2,"\ufb33":1}'.encode()
    )


@pytest.mark.parametrize(
    "value",
    ["a\ud800", {"\udc00": 1}, [float("nan")], {"a": float("inf")}, 10**400, {1: 2}, b"bytes", {1, 2}, object()],
    ids=repr,
)
def test_a_value_without_a_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        canonical_json(value)


@pytest.mark.parametrize("case", own_cases("jcs/negative.json") + TEXTS["refused"], ids=named)
def test_a_text_that_can_be_read_in_two_ways_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        parse_strict(bytes_of(case) if "b64" in case else base64.b64decode(case["base64"]))


@pytest.mark.parametrize("case", TEXTS["accepted"], ids=named)
def test_a_strict_text_is_read(case: dict[str, Any]) -> None:
    data = base64.b64decode(case["base64"])
    assert parse_strict(data) == json.loads(data)


@pytest.mark.parametrize("depth", [DEPTH_MAX, DEPTH_MAX + 1, 100_000])
def test_nesting_has_a_bound(depth: int) -> None:
    text = b"[" * depth + b"]" * depth
    if depth <= DEPTH_MAX:
        parse_strict(text)
    else:
        with pytest.raises(ValueError, match="deeper"):
            parse_strict(text)
