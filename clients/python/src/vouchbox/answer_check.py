"""Checks a service's answer. The answer is believed only if it has each member that the contract names, with the right type.

The forms are made from the contract. A form that is a text lists the types that a value may have: `s` text, `n` a number, `i` a
whole number, `b` true or false, `z` null, `j` the id of a job. The empty text allows every value. `[form]` is a list.
`[form, null]` is a form or null. An object has a form for each member: `name?` may be missing, `*` is every member.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Mapping
from importlib.resources import files as resources
from typing import Any, Final, cast

from .failures import TransportFailure

_JOB_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
"""Ids are parts of addresses and file names, so an id may not have a character with a meaning there."""

WHOLE_MAX: Final = 2**53 - 1


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= WHOLE_MAX


_LETTERS: Final[Mapping[str, Callable[[object], bool]]] = {
    "s": lambda value: isinstance(value, str),
    "n": _is_number,
    "i": _is_whole,
    "b": lambda value: isinstance(value, bool),
    "z": lambda value: value is None,
    "j": lambda value: isinstance(value, str) and _JOB_ID.fullmatch(value) is not None,
}


@functools.cache
def _forms() -> dict[str, dict[str, Any]]:
    return json.loads((resources("vouchbox") / "answer_forms.json").read_text(encoding="utf-8"))


def check_answer(route: str, body: Mapping[str, Any], job_id: str | None = None) -> None:
    """Raises `TransportFailure` unless a route's answer has the route's form and is about the requested job."""
    wrong = wrong_in(body, _forms()["answers"][route], "the whole") or _wrong_event(body)
    if wrong is not None:
        raise TransportFailure("undecodable", f"the answer to {route} does not fit the contract: {wrong}")
    if job_id is not None:
        check_about(body, job_id)


def check_about(body: Mapping[str, Any], job_id: str) -> None:
    """Raises `TransportFailure` if the answer or a part of it names a different job."""
    if body.get("job_id", job_id) != job_id:
        raise TransportFailure("undecodable", f"the service answers about another job than {job_id}")


def check_facts(body: Mapping[str, Any]) -> None:
    """Raises `TransportFailure` if a fact that calls depend on has a wrong form. An older service may leave facts out."""
    wrong = wrong_in(body, {"features?": ["s"], "per_tenant?": {"waits_max": "i"}}, "the whole")
    if wrong is not None:
        raise TransportFailure("undecodable", f"the capabilities do not fit the contract: {wrong}")


def _wrong_event(body: Mapping[str, Any]) -> str | None:
    events: Any = body.get("events")
    for event in cast("list[dict[str, Any]]", events) if isinstance(events, list) else ():
        wrong = wrong_in(event.get("data"), _forms()["events"].get(event["kind"], ""), f"event {event['seq']}")
        if wrong is not None:
            return wrong
    return None


def wrong_in(value: Any, form: Any, name: str) -> str | None:
    """The name of the first wrong member; None if no member is wrong."""
    if isinstance(form, str):
        return None if form == "" or any(_LETTERS[letter](value) for letter in form) else name
    if isinstance(form, list):
        return _wrong_in_list(value, cast("list[Any]", form), name)
    if not isinstance(value, dict):
        return name
    given = cast("dict[str, Any]", value)
    for key, member in form.items():
        at = key.removesuffix("?")
        if key == "*":
            wrong = next((found for each in given if (found := wrong_in(given[each], member, each))), None)
        elif at in given:
            wrong = wrong_in(given[at], member, at)
        else:
            wrong = at if at == key else None
        if wrong is not None:
            return wrong
    return None


def _wrong_in_list(value: Any, form: list[Any], name: str) -> str | None:
    if len(form) == 2:
        return None if value is None else wrong_in(value, form[0], name)
    if not isinstance(value, list):
        return name
    return next((found for item in cast("list[Any]", value) if (found := wrong_in(item, form[0], name))), None)
