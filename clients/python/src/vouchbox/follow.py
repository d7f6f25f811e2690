"""Following a job: every event once and in order, until `finished`, by paging through what is stored.

If the service can hold a request until there is an event, it does. Otherwise, the pauses between empty pages grow. After a
lost connection, a page is read again, so no event is lost or repeated.
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
    """Whether to request the result and the receipt with the last page, if the service can send them."""
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
        """One page. The cursor moves on only once the whole page was decoded."""
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
    """Every event of a job after `after`, each once and in order, as it is recorded. Ends after `finished`.

    Ending the iteration earlier leaves the job alone.
    """
    follower = Follower(session, job_id, after)
    while events := (yield from follower.next_events()):
        for event in events:
            yield Emit(event)
