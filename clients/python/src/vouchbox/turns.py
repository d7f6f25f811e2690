"""Turns, first come, first served.

A client has no more runs open than the service allows its tenant. The other runs wait here in order, where waiting costs nobody
anything. Threads may share a client, so its turns are thread-safe.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable


class Turns:
    """How many turns are taken, and who waits for one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], None]] = deque()
        self._open = 0

    @property
    def open(self) -> int:
        """How many turns are taken."""
        return self._open

    @property
    def waiting(self) -> int:
        """How many callers wait for a turn."""
        return len(self._waiting)

    def take_or_wait(self, most: int, begin: Callable[[], None]) -> bool:
        """Takes a turn if fewer than `most` are taken and nobody waits, and returns True.

        Otherwise calls `begin`, in any thread, once it is the caller's turn.
        """
        with self._lock:
            if self._open < most and not self._waiting:
                self._open += 1
                return True
            self._waiting.append(begin)
            return False

    def give_up(self, begin: Callable[[], None]) -> None:
        """Leaves the queue. If the turn has come meanwhile, it is passed on."""
        with self._lock:
            if begin in self._waiting:
                self._waiting.remove(begin)
                return
        self.pass_on()

    def pass_on(self) -> None:
        """Ends a turn, and gives it to the caller that has waited longest."""
        with self._lock:
            if not self._waiting:
                self._open -= 1
                return
            begin = self._waiting.popleft()
        begin()
