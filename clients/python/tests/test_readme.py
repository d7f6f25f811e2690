"""The examples of the README, run as they stand there."""

from __future__ import annotations

import asyncio
import re
import textwrap
from pathlib import Path
from typing import Any

from service import Service
from vouchbox import Client

README = (Path(__file__).parents[1] / "README.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_every_example_of_the_readme_runs(service: Service, api_key: str) -> None:
    known: dict[str, Any] = {"asyncio": asyncio, "url": service.url, "key": api_key}
    first, *others = [each.replace("http://127.0.0.1:8080", service.url).replace("change-this-key", api_key) for each in EXAMPLES]
    exec(first, known)
    assert known["result"].stdout == "42\n"
    with Client(service.url, api_key) as client:
        known["client"] = client
        for example in others:
            if "async with" in example:
                exec(f"async def main():\n{textwrap.indent(example, '    ')}\nasyncio.run(main())", known)
            else:
                exec(example, known)
    assert len(others) == 10
    assert (known["graded"].verdict["accepted"], known["graded"].verdict["points"]) == (True, 2)
    assert known["workspace"].paths() == ["data.csv", "rows.txt"]
    assert known["verified"].receipt_sha256 == known["result"].receipt_sha256
