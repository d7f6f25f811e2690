"""Runs the real service as a process of its own, started as the repository's tests start it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[3]
COMMAND = ROOT / "packages/cli/bin/vouchbox"
TENANTS = [f"tenant{number}" for number in range(300)]
"""Each scenario has a tenant of its own."""


def can_isolate() -> bool:
    """Whether the tests may start cells. If not, programs run in the development provider, which isolates nothing."""
    return os.name == "posix" and os.geteuid() == 0 and shutil.which("crun") is not None


class Service:
    """A running service. Stop it instead of killing it, so that it can clean up."""

    def __init__(self, **more: str) -> None:
        self._directory = tempfile.mkdtemp(prefix="vouchbox-python-")
        settings = {
            "SERVICE_PORT": "0",
            "SERVICE_DATA_DIR": self._directory,
            "SERVICE_PROVIDER": "namespace" if can_isolate() else "subprocess",
            "SERVICE_LEGACY_KEYS": ",".join(f"{tenant}=key-of-{tenant}" for tenant in TENANTS),
            "SERVICE_LINKS": "on",
            "SERVICE_LOG_LEVEL": "silent",
            "SERVICE_FREE_SPACE_RESERVE_MB": "0",
            **more,
        }
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self._process = subprocess.Popen(
            [COMMAND, "serve"], env={**kept, **settings}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.url = self._address()

    def _address(self) -> str:
        said = ""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said += line
            if match := re.search(r"^listening on (http://\S+)", line):
                return match[1]
        raise RuntimeError(f"the service did not start: {said}")

    def stop(self) -> None:
        self._process.terminate()
        assert self._process.wait(60) == 0, "the service ends with 0"
        assert self._process.stdout is not None
        self._process.stdout.close()
        shutil.rmtree(self._directory)
