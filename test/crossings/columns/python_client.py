"""One call with the Python client. Reads its task from stdin as JSON, and prints what it saw as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from vouchbox import Checker, Client, GradeTest


def seen_of(client: Client, result: Any) -> dict[str, Any]:
    large = {one["path"]: client.download("sha256:" + one["sha256"]).data for one in result.large_outputs}
    interaction = client.detail(result.job_id)["requested_spec"].get("interaction")
    return {
        **({"peer": client.wait(interaction["peer"]).stdout} if interaction else {}),
        "status": result.status,
        "exit_code": result.exit_code,
        "stdout": result.stdout,
        "stderr": result.stderr,
        "truncated": result.truncated,
        "violations": sorted({violation["type"] for violation in result.violations}),
        "files": {path: content.decode("latin-1") for path, content in {**result.files, **large}.items()},
    }


def search(query: str) -> dict[str, list[str]]:
    return {"pages": [f"a page about {query}"]}


def run(client: Client, asked: dict[str, Any]) -> dict[str, Any]:
    files = {path: {"blob": client.upload(Path(file).read_bytes())["blob"]} for path, file in asked["uploads"].items()}
    files |= asked["outputs"]  # Other jobs' outputs are named, not uploaded.
    program = {"outputs": [], **asked["program"]}
    runner = client.session(program["session"]["name"]) if "session" in program else client
    options = {"tools": {"search": search}} if "tools" in program else {}
    result = runner.run(program, files=files or None, idempotency_key=asked.get("idempotency_key"), **options)
    if "tools" in program:  # A second run with the recorded answers must do the same.
        result = client.run(program, replay=list(client.follow(result.job_id)))
    client.verify(result.job_id)
    return {**seen_of(client, result), "terminal_reason": result.terminal_reason, "signal": result.signal}


def read(client: Client, asked: dict[str, Any]) -> dict[str, Any]:
    detail = client.detail(asked["job_id"])
    client.verify(asked["job_id"])
    return {
        **seen_of(client, client.wait(asked["job_id"])),
        "terminal_reason": detail["terminal_reason"],
        "signal": detail["signal"],
    }


def cancel(client: Client, asked: dict[str, Any]) -> dict[str, Any]:
    client.cancel(asked["job_id"])
    return {}


def grade(client: Client, asked: dict[str, Any]) -> dict[str, Any]:
    judge = asked.get("interactor")
    graded = client.grade(
        asked["program"],
        tests=[GradeTest(**test) for test in asked["tests"]],
        interactor=Checker(**judge) if judge else None,
    )
    ended = client.grading(graded.grading_id)
    words = f"{ended['status']}, {ended['runs_ended']} of {ended['runs']} runs"
    return {"verdicts": [test["verdict"] for test in graded.verdict["tests"]], "grading": words}


def link(client: Client, asked: dict[str, Any]) -> dict[str, Any]:
    return {"address": client.create_link(asked["job_id"])["address"]}


def unlink(client: Client, asked: dict[str, Any]) -> dict[str, Any]:
    client.revoke_link(asked["job_id"], asked["link_id"])
    return {}


def listed(client: Client, asked: dict[str, Any]) -> dict[str, Any]:
    return {"line": next(job.get("first_line") for job in client.jobs() if job["job_id"] == asked["job_id"])}


CALLS = {"run": run, "read": read, "cancel": cancel, "grade": grade, "link": link, "unlink": unlink, "listed": listed}


def main() -> None:
    asked = json.load(sys.stdin)
    with Client(asked["url"], asked["key"]) as client:
        json.dump(CALLS[asked["call"]](client, asked), sys.stdout)


main()
