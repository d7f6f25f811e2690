"""Turns a caller's arguments about a program into the body that the contract takes."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import cast

from .contract import (
    FileContent,
    InputFile,
    IsolationClass,
    JobSubmission,
    Libraries,
    LimitsInput,
    OutputFile,
    StoredBlob,
    UploadedFile,
)

EVERY_OUTPUT = ("output/**",)
"""Every regular file that the program leaves below `output/`."""


def submission_of(
    program: str | JobSubmission,
    *,
    language: str | None = None,
    files: Mapping[str, FileContent] | None = None,
    outputs: Sequence[str] | None = None,
    stdin: str | None = None,
    args: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    runtime: str | None = None,
    minimum_isolation: IsolationClass | None = None,
    limits: LimitsInput | None = None,
    reproducible: bool | None = None,
    libraries: Libraries | StoredBlob | None = None,
    labels: Sequence[str] | None = None,
    sign_labels: bool | None = None,
) -> JobSubmission:
    """A submission of the given code, or the given submission itself. The other given members are added to either."""
    said = {
        "language": language,
        "files": None if files is None else input_files(files),
        "outputs": _list_of(outputs, "outputs"),
        "stdin": stdin,
        "args": _list_of(args, "args"),
        "env": None if env is None else dict(env),
        "runtime": runtime,
        "requirements": None if minimum_isolation is None else {"minimum_isolation": minimum_isolation},
        "limits": limits,
        "reproducible": reproducible,
        "libraries": None if libraries is None else {"blob": libraries["blob"]},
        "labels": _list_of(labels, "labels"),
        "sign_labels": sign_labels,
    }
    given = {"language": "python", "code": program} if isinstance(program, str) else program
    return cast(JobSubmission, {**given, **{name: value for name, value in said.items() if value is not None}})


def _list_of(texts: Sequence[str] | None, name: str) -> list[str] | None:
    """Refuses a text in place of a list. Otherwise, Python would take the text as a sequence of its characters."""
    if isinstance(texts, str):
        raise TypeError(f"{name} must be a list of texts, and not one text: {name}=[{texts!r}]")
    return None if texts is None else list(texts)


def body_of(submission: Mapping[str, object]) -> bytes:
    """The bytes to send. The same submission has the same bytes. Raises ValueError for text that has no UTF-8 form."""
    return json.dumps(submission, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def input_path(name: str) -> str:
    """A file's name as a path in the cell: `data.csv` becomes `input/data.csv`."""
    return name if name.startswith("input/") else f"input/{name}"


def input_files(files: Mapping[str, FileContent]) -> list[InputFile | UploadedFile | OutputFile]:
    return [_input_file(input_path(name), content) for name, content in files.items()]


def _input_file(path: str, content: FileContent) -> InputFile | UploadedFile | OutputFile:
    if isinstance(content, Mapping):
        if "from" in content:
            return {"path": path, "from": content["from"]}
        return {"path": path, "blob": content["blob"]}
    return {"path": path, "content_base64": b64encode(bytes_of(content)).decode("ascii")}


def bytes_of(content: bytes | str) -> bytes:
    """The bytes of a file. Text becomes UTF-8."""
    return content.encode() if isinstance(content, str) else bytes(content)
