"""Runs the examples in the README, docs/GRADING.md and docs/AGENTS.md exactly as they are written there."""

from __future__ import annotations

import asyncio
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from service import ROOT, Service
from vouchbox import Client

AGENTS = (ROOT / "docs/AGENTS.md").read_text()
GRADING = (ROOT / "docs/GRADING.md").read_text()
README = (Path(__file__).parents[1] / "README.md").read_text()


def examples_of(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def of_service(example: str, service: Service, api_key: str) -> str:
    return example.replace("http://127.0.0.1:8080", service.url).replace("change-this-key", api_key)


def test_every_example_of_the_readme_runs(service: Service, api_key: str) -> None:
    known: dict[str, Any] = {"asyncio": asyncio, "url": service.url, "key": api_key}
    first, *others = [of_service(each, service, api_key) for each in examples_of(README)]
    exec(first, known)
    assert known["result"].stdout == "42\n"
    with Client(service.url, api_key) as client:
        known["client"] = client
        for example in others:
            if "async with" in example:
                exec(f"async def main():\n{textwrap.indent(example, '    ')}\nasyncio.run(main())", known)
            else:
                exec(example, known)
    assert len(others) == 13
    assert (known["step"].stdout, known["step"].moved, known["step"].kept.not_kept) == ("3 seen\n", True, ())
    assert [(test["name"], test["verdict"]) for test in known["graded"].verdict["tests"]] == [
        ("exact", "wrong_answer"),
        ("near", "skipped"),
    ]
    assert known["workspace"].paths() == ["data.csv", "rows.txt"]
    assert known["verified"].receipt_sha256 == known["result"].receipt_sha256


def test_the_example_of_grading_runs(service: Service, api_key: str, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = [each for each in examples_of(GRADING) if "import Client" in each]
    known: dict[str, Any] = {}
    exec(of_service(example, service, api_key), known)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"2 {known['graded'].verdict['tests'][0]['run']['wall_ms']}"
    assert [line.split()[0] for line in said[1:-1]] == ["job", "job", "program", "finished"]
    assert "'accepted': True" in said[-1]


def test_the_examples_of_agents_print_what_they_say(service: Service, api_key: str, capsys: pytest.CaptureFixture[str]) -> None:
    examples = examples_of(AGENTS)
    known: dict[str, Any] = {}
    for example in examples:
        exec(of_service(example, service, api_key), known)
    printed = [line for line in capsys.readouterr().out.splitlines() if line]
    told = [line for example in examples for line in re.findall("# → (.*)$", example, re.MULTILINE)]
    assert (len(examples), printed) == (4, told)
