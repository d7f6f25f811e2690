"""Follows a job: pages through the stored events and gives each once and in order, until `finished`.

The service holds a request until there is an event, if it can do that. Otherwise, the pauses between empty pages grow. After a
lost connection, the page is read again, so no event is lost or repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .ask_until_ended import WAIT_SECONDS
from .contract import REPLAY_LIMIT_MAX, EndingPage, Event
from .effects import Emit, Flow, Pause, Stream
from .failures import TransportFailure
from .jobs import replay
from .session import Session, accepted, supports

IDLE_SECONDS_FIRST = 0.05
IDLE_SECONDS_LAST = 1.0


@dataclass(slots=True)
class Follower:
    """A place in a job's history."""

    session: Session
    job_id: str
    after: int = 0
    has_finished: bool = False
    tells_end: bool = False
    """Whether to request the result and the receipt with the last page. They come only if the service can send them."""
    ended: EndingPage | None = None
    """The last page, once it came."""

    def next_events(self) -> Flow[Sequence[Event]]:
        """The next events, at least one of them; none after `finished`."""
        idle = IDLE_SECONDS_FIRST
        patient = accepted(self.session)
        is_held = yield from supports(patient, "replay_wait")
        self.session.facts = patient.facts
        while not self.has_finished:
            events = yield from self._page(WAIT_SECONDS if is_held else 0.0)
            if events:
                return events
            if not is_held and not self.has_finished:
                yield Pause(idle)
                idle = min(idle * 2, IDLE_SECONDS_LAST)
        return ()

    def _page(self, wait_seconds: float) -> Flow[Sequence[Event]]:
        """Reads one page. The cursor moves on only after the whole page was decoded."""
        tells_end = self.tells_end and (yield from supports(self.session, "replay_include"))
        page = yield from replay(
            accepted(self.session),
            self.job_id,
            after=self.after,
            limit=REPLAY_LIMIT_MAX,
            wait_seconds=wait_seconds,
            include="result,receipt" if tells_end else None,
        )
        events, cursor = page["events"], page["next_cursor"]
        expected = range(self.after + 1, self.after + 1 + len(events))
        if [event["seq"] for event in events] != list(expected):
            raise TransportFailure("undecodable", f"the page after event {self.after} is not what follows it")
        self.after += len(events)
        self.has_finished = cursor is None
        self.ended = page if self.has_finished else None
        return events


def follow(session: Session, job_id: str, *, after: int = 0) -> Stream[Event]:
    """Every event of a job after `after`, once and in order, as it is recorded. Ends after `finished`.

    Ending the iteration earlier does not affect the job.
    """
    follower = Follower(session, job_id, after)
    while events := (yield from follower.next_events()):
        for event in events:
            yield Emit(event)
