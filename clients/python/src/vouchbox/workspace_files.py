"""The parts of a workspace that only handle its files. They need no service and are the same for both clients."""

from __future__ import annotations

from collections.abc import Sequence

from .workspace import Step, WorkspaceState, checked_path


class WorkspaceFiles:
    """The files of a workspace, as the next step will get them."""

    _context: WorkspaceState

    def write(self, path: str, content: bytes | str) -> None:
        """Adds or replaces a file. `path` is relative, such as `data/a.csv`."""
        self._context.files[checked_path(path)] = content.encode() if isinstance(content, str) else bytes(content)

    def read(self, path: str) -> bytes:
        """The content of a file. Raises KeyError if there is no such file."""
        return self._context.files[path]

    def remove(self, path: str) -> None:
        """Removes a file. Raises KeyError if there is no such file."""
        del self._context.files[path]

    def paths(self) -> list[str]:
        """The paths of all files, sorted."""
        return sorted(self._context.files)

    @property
    def steps(self) -> Sequence[Step]:
        """The steps so far, in order."""
        return tuple(self._context.steps)

    @property
    def digest(self) -> str:
        """The digest of the files as they are now: SHA-256 of the canonical JSON of their paths, digests and sizes."""
        return self._context.digest()
