"""Reads JSON as the service and its verifiers do: one value in UTF-8, with nothing that can be read in two ways.

It refuses a byte order mark, a member named twice, numbers that no double can hold, lone surrogates, and nesting deeper than 32
levels. RFC 8259 § 4, RFC 7493 § 2.
"""

from __future__ import annotations

import json
import math
from typing import NoReturn, TypeAlias, cast

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

DEPTH_MAX = 32


def parse_strict(data: bytes) -> Json:
    """The value of one JSON text. Raises ValueError that says what is wrong with the text."""
    text = data.decode("utf-8", "strict")
    if text.startswith("\ufeff"):
        raise ValueError("it begins with a byte order mark")
    try:
        value = cast(
            Json,
            json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole),
        )
    except RecursionError:
        raise ValueError(f"it is nested deeper than {DEPTH_MAX} levels") from None
    _check(value, DEPTH_MAX)
    return value


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("it has a member named twice")
    return members


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"it holds {name}, which is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("it holds a number that no double can hold")
    return number


def _whole(text: str) -> int | float:
    """Whole numbers beyond 2**53 are read as doubles, as they are everywhere else."""
    return int(text) if len(text) <= 15 else _rounded(_finite(text))


def _rounded(number: float) -> int | float:
    return int(number) if abs(number) <= 2**53 else number


def _check(value: Json, depth: int) -> None:
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, dict | list):
        if depth == 0:
            raise ValueError(f"it is nested deeper than {DEPTH_MAX} levels")
        for element in value.values() if isinstance(value, dict) else value:
            _check(element, depth - 1)
        if isinstance(value, dict):
            for name in value:
                _check_text(name)


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("it holds a lone surrogate") from None
