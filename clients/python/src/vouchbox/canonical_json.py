"""The one spelling of a JSON value for everything that is digested: RFC 8785 (JCS)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import cast


def canonical_json(value: object) -> bytes:
    """The RFC 8785 bytes of a JSON value.

    Raises ValueError for values without such a form: lone surrogates, NaN, infinities, names that are not strings, other types.
    """
    return _text(value).encode()


def sha256_hex(data: bytes) -> str:
    """SHA-256 as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def _text(value: object) -> str:
    match value:
        case None | bool() | str():
            return json.dumps(value, ensure_ascii=False)
        case int() | float():
            return _number(value)
        case Mapping():
            return _object(cast("Mapping[object, object]", value))
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return "[" + ",".join(_text(element) for element in cast("Sequence[object]", value)) + "]"
        case _:
            raise ValueError(f"a {type(value).__name__} has no JSON form")


def _object(members: Mapping[object, object]) -> str:
    names = [name for name in members if isinstance(name, str)]
    if len(names) < len(members):
        raise ValueError("the name of a member is not a string")
    names.sort(key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(f"{_text(name)}:{_text(members[name])}" for name in names) + "}"


def _number(value: int | float) -> str:
    """A number as ECMAScript writes it. Numbers are doubles: an int beyond 2**53 is rounded to a double."""
    if isinstance(value, int) and abs(value) <= 2**53:
        return str(value)
    try:
        number = float(value)
    except OverflowError:
        raise ValueError("a number is beyond the doubles") from None
    if not math.isfinite(number):
        raise ValueError("NaN and infinities have no JSON form")
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    return sign + _digits(abs(number))


def _digits(number: float) -> str:
    """ECMAScript's Number::toString for a positive number. It writes the fewest possible digits, as Python's repr does."""
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = int(exponent or "0") + (len(whole) if whole != "0" else len(digits) - len(fraction))
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        return digits.ljust(point, "0") if len(digits) <= point else f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{rest}e{point - 1:+d}"
