"""Answers the calls of a run as those of an earlier run were answered, in their order. No tool runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .canonical_json import canonical_json
from .contract import Event, ToolCallEvent, ToolDescription
from .effects import Flow
from .failures import EvidenceFailure, ServiceFailure
from .session import Session
from .tools import answer_tool_call

_SHOWN_CHARACTERS_MAX = 200


def recorded_tools(events: Sequence[Event]) -> list[ToolDescription]:
    """The tools that answered in the earlier run, by their names."""
    calls = [event["data"] for event in events if event["kind"] == "tool_call" and "refused" not in event["data"]]
    return [{"name": name} for name in dict.fromkeys(call["tool"] for call in calls)]


class ToolReplay:
    """Answers the calls of one job from the events of an earlier one."""

    failure: Exception | None = None
    is_over = False

    def __init__(self, session: Session, job_id: str, events: Sequence[Event]) -> None:
        self._session = session
        self._job_id = job_id
        self._calls = [event for event in events if event["kind"] == "tool_call"]
        self._answers = [event["data"] for event in events if event["kind"] == "tool_result"]
        self._numbers: dict[int, int] = {}
        """The numbers of the calls of this run by those of the earlier run."""
        self._answered = 0

    def take(self, event: Event) -> Flow[None]:
        """Takes each event of the job. The first call that differs is an `EvidenceFailure` with the check `transcript`."""
        number = len(self._numbers)
        recorded = self._calls[number] if number < len(self._calls) else None
        if event["kind"] == "finished" and recorded is not None:
            raise _failure(f"the program ended before call {number + 1} of the transcript, {_shown(recorded)}", None)
        if event["kind"] != "tool_call":
            return
        if recorded is None or _line(recorded) != _line(event):
            had = "no such call" if recorded is None else _shown(recorded)
            raise _failure(f"call {number + 1} is {_shown(event)}, and the transcript has {had}", event["seq"])
        self._numbers[recorded["seq"]] = event["seq"]
        yield from self._answer()

    def end(self) -> None:
        """Nobody waits for an answer any more."""
        self.is_over = True

    def _answer(self) -> Flow[None]:
        """Gives the answers whose turn it is: none goes before those that went before it."""
        for given in self._answers[self._answered :]:
            seq = self._numbers.get(given["call_seq"])
            if seq is None:
                return
            answer: Mapping[str, Any] = {"error": given["error"]} if "error" in given else {"result": given["result"]}
            try:
                yield from answer_tool_call(self._session, self._job_id, seq, answer)
            except ServiceFailure as failure:
                if failure.code != "job_terminal":
                    raise
            self._answered += 1


def _failure(message: str, seq: int | None) -> EvidenceFailure:
    return EvidenceFailure("transcript", message, seq=seq)


def _line(event: ToolCallEvent) -> str:
    """What must be the same at every run: the tool, its arguments, and why the service refused the call if it did."""
    data = event["data"]
    return canonical_json({word: data[word] for word in ("tool", "arguments", "refused") if word in data}).decode()


def _shown(event: ToolCallEvent) -> str:
    line = _line(event)
    return line if len(line) <= _SHOWN_CHARACTERS_MAX else f"{line[:_SHOWN_CHARACTERS_MAX]}…"
