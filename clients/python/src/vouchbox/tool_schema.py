"""Makes a JSON Schema for a function's arguments from the type hints. The function must check what no schema can state."""

from __future__ import annotations

import collections.abc
import inspect
import types
from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired, Required, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

Schema = dict[str, Any]

_NAMED: dict[object, str] = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string"}
_LISTS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_OBJECTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_UNPACKED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def arguments_schema(function: Callable[..., object]) -> Schema | None:
    """The schema; None if the function is built in, has positional-only arguments, or has hints that cannot be resolved."""
    try:
        parameters = inspect.signature(function).parameters.values()
        hints = get_type_hints(function if inspect.isroutine(function) else type(function).__call__, include_extras=True)
    except (TypeError, ValueError, NameError):
        return None
    if any(each.kind is inspect.Parameter.POSITIONAL_ONLY for each in parameters):
        return None
    named = [each for each in parameters if each.kind not in _UNPACKED]
    schema: Schema = {
        "type": "object",
        "properties": {each.name: schema_of(hints.get(each.name, Any)) for each in named},
        "additionalProperties": any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters),
    }
    required = [each.name for each in named if each.default is inspect.Parameter.empty]
    return {**schema, "required": required} if required else schema


def schema_of(hint: object, inside: tuple[object, ...] = ()) -> Schema:
    """The schema of a type hint. If no schema can express the hint, the schema accepts everything."""
    if isinstance(hint, type | types.NoneType) and hint in _NAMED:
        return {"type": _NAMED[hint]}
    if hint is None:
        return {"type": "null"}
    if hint in inside:  # The hint refers to itself.
        return {}
    origin, arguments, within = get_origin(hint) or hint, get_args(hint), (*inside, hint)
    if origin in (Annotated, Required, NotRequired):
        schema = schema_of(arguments[0], inside)
        told = [each for each in arguments[1:] if isinstance(each, str)]
        return {**schema, "description": told[0]} if told else schema
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(each, within) for each in arguments]}
    if origin in _LISTS:
        return {"type": "array", **({"items": schema_of(arguments[0], within)} if arguments else {})}
    if origin in _OBJECTS:
        return {"type": "object", **({"additionalProperties": schema_of(arguments[1], within)} if arguments else {})}
    if is_typeddict(hint):
        return _of_typed_dict(cast("type", hint), within)
    return {}


def _of_typed_dict(kind: type, within: tuple[object, ...]) -> Schema:
    hints = get_type_hints(kind, include_extras=True)
    properties = {name: schema_of(hint, within) for name, hint in hints.items()}
    # If annotations are text, `__required_keys__` ignores `Required` and `NotRequired`, so they are read from the hints.
    marks: dict[object, bool] = {Required: True, NotRequired: False}
    stated = cast("frozenset[str]", getattr(kind, "__required_keys__"))
    required = [name for name, hint in hints.items() if marks.get(get_origin(hint), name in stated)]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}
