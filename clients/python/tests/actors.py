"""Puts both clients behind one interface, so that every scenario can be played with each."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

from vouchbox import AsyncClient, Client, Retry


class SyncActor:
    """Plays with the blocking client. Ctrl-C interrupts it."""

    name = "Client"

    def __init__(self, base_url: str, api_key: str, retry: Retry, workspace: bool) -> None:
        self._client = Client(base_url, api_key, retry=retry)
        self.workspace = self._client.workspace() if workspace else None

    def do(self, call: str, *words: Any, **options: Any) -> Any:
        """Makes one call and waits for its end. If the call hands out values, returns them as a list."""
        value = _called(self.workspace, self._client, call)(*words, **options)
        return list(cast("Iterator[Any]", value)) if isinstance(value, Iterator) else value

    def interrupt(self) -> None:
        """Breaks the present call off, from any thread."""
        # Python's handler raises KeyboardInterrupt in the main thread, in which the test runs.
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        os.kill(os.getpid(), signal.SIGINT)

    def close(self) -> None:
        self._client.close()


class AsyncActor:
    """Plays with the asyncio client. Cancelling its task interrupts it."""

    name = "AsyncClient"

    def __init__(self, base_url: str, api_key: str, retry: Retry, workspace: bool) -> None:
        self._loop = asyncio.new_event_loop()
        try:
            self._client = AsyncClient(base_url, api_key, retry=retry)
        except ValueError:
            self._loop.close()
            raise
        self.workspace = self._client.workspace() if workspace else None
        self._task: asyncio.Task[Any] | None = None

    def do(self, call: str, *words: Any, **options: Any) -> Any:
        """Makes one call and waits for its end. If the call hands out values, returns them as a list."""
        function = _called(self.workspace, self._client, call)

        async def made() -> Any:
            value = function(*words, **options)
            if isinstance(value, AsyncIterator):
                return [element async for element in cast("AsyncIterator[Any]", value)]
            return await value if asyncio.iscoroutine(value) else value

        self._task = self._loop.create_task(made())
        return self._loop.run_until_complete(self._task)

    def interrupt(self) -> None:
        """Breaks the present call off, from any thread."""
        assert self._task is not None
        self._loop.call_soon_threadsafe(self._task.cancel)

    def close(self) -> None:
        self._loop.run_until_complete(self._client.close())
        self._loop.close()


def _called(workspace: object, client: object, call: str) -> Callable[..., Any]:
    """The workspace's method, if there is a workspace with that method; otherwise the client's method."""
    return getattr(workspace, call, None) or getattr(client, call)


ACTORS: list[type[SyncActor] | type[AsyncActor]] = [SyncActor, AsyncActor]
