"""Calls the service with the Python client. Each line of JSON on stdin is an order. The answer is also a line of JSON."""

import asyncio
import json
import os
import sys
import time

from vouchbox import AsyncClient

PRINTED = "hello\n"


async def obey(client: AsyncClient, runs: int, at_once: int) -> dict[str, object]:
    problems: list[str] = []
    turns = iter(range(runs))

    async def drive() -> None:
        for _ in turns:
            try:
                printed = (await client.run('print("hello")')).stdout
            except Exception as error:
                printed = repr(error)
            if printed != PRINTED:
                problems.append(printed)

    started = time.monotonic()
    await asyncio.gather(*(drive() for _ in range(at_once)))
    milliseconds = (time.monotonic() - started) * 1000
    return {"milliseconds": milliseconds, "unanswered": len(problems), "problem": problems[0] if problems else None}


async def main() -> None:
    async with AsyncClient(sys.argv[1], os.environ["CALLER_KEY"]) as client:
        while line := await asyncio.to_thread(sys.stdin.readline):
            order = json.loads(line)
            print(json.dumps(await obey(client, order["runs"], order["atOnce"])), flush=True)


asyncio.run(main())
