"""Answers a run's tool calls with the answers from an earlier run, in the same order. No tool runs.

Calls that were open at once may come in another order, because a program's threads and processes run in any order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import inf
from typing import Any

from .canonical_json import canonical_json
from .contract import Event, ToolCallEvent, ToolDescription
from .effects import Flow, Raised
from .failures import EvidenceFailure, ServiceFailure
from .session import Session
from .tools import answer_tool_call

_SHOWN_CHARACTERS_MAX = 200


def recorded_tools(events: Sequence[Event]) -> list[ToolDescription]:
    """The tools that answered in the earlier run, described only by their names."""
    calls = [event["data"] for event in events if event["kind"] == "tool_call" and "refused" not in event["data"]]
    return [{"name": name} for name in dict.fromkeys(call["tool"] for call in calls)]


@dataclass(frozen=True, slots=True)
class _Recorded:
    seq: int
    place: int
    """The call's place among all calls, from 1."""
    closed: float
    """The number of the event with the call's answer; if the service refused the call, that of the next event with an answer."""
    line: str


class ToolReplay:
    """Answers the calls of one job from the events of an earlier job."""

    failure: Raised | None = None
    is_over = False

    def __init__(self, session: Session, job_id: str, events: Sequence[Event]) -> None:
        self._session = session
        self._job_id = job_id
        self._missing = _calls_in(events)
        """The earlier run's calls that this run has not made yet, in order."""
        self._answers = [event["data"] for event in events if event["kind"] == "tool_result"]
        self._numbers: dict[int, int] = {}
        """The numbers of this run's calls, keyed by the numbers of the earlier run's calls."""
        self._answered = 0

    def take(self, event: Event) -> Flow[None]:
        """Takes each event of the job. The first call that differs raises `EvidenceFailure` with the check `transcript`."""
        if event["kind"] == "finished" and self._missing:
            missing = self._missing[0]
            raise _failure(f"the program ended before call {missing.place} of the transcript, {_shown(missing.line)}", None)
        if event["kind"] != "tool_call":
            return
        self._numbers[self._found(event).seq] = event["seq"]
        yield from self._answer()

    def _found(self, event: ToolCallEvent) -> _Recorded:
        """The call in the earlier run that equals this call: either the first missing call, or a call that was made while that
        call was open."""
        first = self._missing[0] if self._missing else None
        closed = 0 if first is None else first.closed
        expected = list(takewhile(lambda call: call.seq < closed, self._missing))
        line = _line(event)
        at = next((at for at, call in enumerate(expected) if call.line == line), None)
        if at is not None:
            return self._missing.pop(at)
        had = "no such call" if first is None else _shown(first.line)
        if len(expected) > 1:
            had += f", or one of {len(expected) - 1} others that were open then"
        raise _failure(f"call {len(self._numbers) + 1} is {_shown(line)}, and the transcript has {had}", event["seq"])

    def end(self) -> None:
        """Stops, because nobody waits for an answer any more."""
        self.is_over = True

    def _answer(self) -> Flow[None]:
        """Gives the next answers in the earlier run's order. Stops before an answer to a call that this run has not made yet."""
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


def _calls_in(events: Sequence[Event]) -> list[_Recorded]:
    answers = {event["data"]["call_seq"]: event["seq"] for event in events if event["kind"] == "tool_result"}
    calls: list[_Recorded] = []
    for event in events:
        if event["kind"] != "tool_call":
            continue
        seq = event["seq"]
        is_refused = "refused" in event["data"]
        closed = next((answer for answer in answers.values() if answer > seq), inf) if is_refused else answers.get(seq, inf)
        calls.append(_Recorded(seq, len(calls) + 1, closed, _line(event)))
    return calls


def _failure(message: str, seq: int | None) -> EvidenceFailure:
    return EvidenceFailure("transcript", message, seq=seq)


def _line(event: ToolCallEvent) -> str:
    """What must be the same in every run: the tool, the arguments and, if the service refused the call, the reason."""
    data = event["data"]
    return canonical_json({word: data[word] for word in ("tool", "arguments", "refused") if word in data}).decode()


def _shown(line: str) -> str:
    return line if len(line) <= _SHOWN_CHARACTERS_MAX else f"{line[:_SHOWN_CHARACTERS_MAX]}…"
