"""Plays the scenarios that all clients share against the real service, with both clients of this package."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from actors import ACTORS, AsyncActor, SyncActor
from fault_proxy import FaultProxy
from service import can_isolate
from vouchbox import GradeTest, Retry, ServiceFailure, VouchboxError

SCENARIOS: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "scenarios.json").read_text())["scenarios"]
UNMET = {"stream": "this client follows by long polls and has no stream"} | (
    {} if can_isolate() else {"isolation": "programs are not isolated here"}
)


@pytest.mark.parametrize("kind", ACTORS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario["name"])
def test_scenario(
    scenario: dict[str, Any], kind: type[SyncActor] | type[AsyncActor], proxy: FaultProxy, api_key: str
) -> None:
    for need in scenario.get("needs", []):
        if need in UNMET:
            pytest.skip(UNMET[need])
    client: dict[str, Any] = {"base_url": proxy.url, "api_key": api_key, **scenario.get("client", {})}
    given = {name: client[name] for name in ("attempts_max", "patience_seconds") if name in client}
    retry = Retry(base_seconds=0.02, **given)
    workspace = scenario.get("workspace", False)
    if scenario.get("refuses_client"):
        with pytest.raises(ValueError, match="base_url"):
            kind(client["base_url"], client["api_key"], retry, workspace)
        return
    for fault in scenario.get("faults", []):
        proxy.add(fault)
    actor = kind(client["base_url"], client["api_key"], retry, workspace)
    try:
        play = _Play(actor, proxy)
        for step in scenario["do"]:
            play.do(step)
        play.check(scenario.get("then", {}))
    finally:
        proxy.released.set()
        actor.close()


class _Play:
    """A scenario in progress."""

    def __init__(self, actor: SyncActor | AsyncActor, proxy: FaultProxy) -> None:
        self.actor = actor
        self.proxy = proxy
        self.heard = {"stdout": "", "stderr": ""}

    def do(self, step: Mapping[str, Any]) -> None:
        words, options = self._words(step)
        if "heard" in step or "heard" in step.get("interrupt", {}):
            options |= {"on_stdout": self._hears("stdout", step), "on_stderr": self._hears("stderr", step)}
        if "interrupt" in step:
            self._interrupted(step, words, options)
        elif "fails" in step:
            with pytest.raises(VouchboxError) as failure:
                self._until(step, words, options)
            _expect(step["fails"], {**vars(failure.value)}, "fails")
        else:
            value = self._until(step, words, options)
            if "gives" in step:
                _expect(step["gives"], value, step["call"])
        if "heard" in step:
            assert self.heard == step["heard"]

    def _words(self, step: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call. The job is the newest one, unless the step names another."""
        options = dict(step.get("with", {}))
        if "tests" in options:
            options["tests"] = [GradeTest(**test) for test in options["tests"]]
        is_about_job = step["call"] in ("wait", "follow", "result", "detail", "cancel", "attestation", "result_artifact")
        if is_about_job or (step["call"] == "verify" and self.actor.workspace is None):
            return [step.get("job_id") or self._jobs()[0]["job_id"]], options
        return [], options

    def _jobs(self) -> list[dict[str, Any]]:
        return self.actor.do("jobs")

    def _until(self, step: Mapping[str, Any], words: list[Any], options: dict[str, Any]) -> Any:
        """Makes the call, and repeats it as long as it is refused with the code in `until`."""
        while True:
            try:
                return self.actor.do(step["call"], *words, **options)
            except ServiceFailure as failure:
                if failure.code != step.get("until"):
                    raise

    def _hears(self, stream: str, step: Mapping[str, Any]) -> Any:
        def hear(text: str) -> None:
            self.heard[stream] += text
            if self.heard[stream] == step.get("interrupt", {}).get("heard"):
                self.actor.interrupt()

        return hear

    def _interrupted(self, step: Mapping[str, Any], words: list[Any], options: dict[str, Any]) -> None:
        when = step["interrupt"]
        if "on" in when:
            self.proxy.on_request = lambda operation: self._interrupt_at(operation, when["on"])
        if "held" in when:
            self.proxy.on_held = lambda operation: self._interrupt_at(operation, when["held"])
        with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)):
            self.actor.do(step["call"], *words, **options)

    def _interrupt_at(self, operation: str, wanted: str) -> None:
        if operation == wanted:
            self.proxy.on_request = self.proxy.on_held = None
            self.actor.interrupt()

    def check(self, then: Mapping[str, Any]) -> None:
        requests: dict[str, int] = then.get("requests", {})
        assert {operation: len(self.proxy.requests(operation)) for operation in requests} == requests
        for operation, seconds in then.get("seconds_between_at_least", {}).items():
            first, second = self.proxy.requests(operation)[:2]
            assert second.at - first.at >= seconds
        if "keys" in then:
            keys = {request.key for request in self.proxy.requests("POST /v1/jobs")}
            assert len(keys) == then["keys"]
            assert None not in keys
        if "jobs" in then:
            assert len(self._jobs()) == then["jobs"]
        if "steps_linked" in then:
            self._check_steps(then["steps_linked"])

    def _check_steps(self, count: int) -> None:
        assert self.actor.workspace is not None
        steps, kept = self.actor.workspace.steps, None
        assert len(steps) == count
        for step in steps:
            assert step.edited or kept is None or step.input_digest == kept
            kept = step.output_digest if step.was_kept else kept


def _expect(expected: Any, value: Any, where: str) -> None:
    """Compares what a scenario says with a value. Mappings may have more members, except for `files`."""
    found: Any = _plain(value)
    if isinstance(expected, dict):
        members = cast("dict[str, Any]", expected)
        assert isinstance(found, Mapping), where
        assert not where.endswith(".files") or set(members) == set(cast("dict[str, Any]", found)), where
        for name, member in members.items():
            _expect(member, found[name], f"{where}.{name}")
    elif isinstance(expected, list):
        elements = cast("list[Any]", expected)
        assert len(found) == len(elements), f"{where} is {found}"
        for index, element in enumerate(elements):
            _expect(element, found[index], f"{where}[{index}]")
    else:
        assert found == expected, where


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, bytes):
        return value.decode()
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
