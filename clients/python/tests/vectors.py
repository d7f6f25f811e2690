"""Finds test vectors: the repository's own, and others' published vectors, which are beside the repository and not committed."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

OWN = Path(__file__).parents[3] / "test/vectors"
PUBLISHED = Path(__file__).parents[4] / "shared/vectors"


def own_cases(path: str) -> list[dict[str, Any]]:
    """The cases in a file of the repository."""
    return json.loads((OWN / path).read_text())["cases"]


def bytes_of(case: dict[str, Any]) -> bytes:
    """The bytes of a case."""
    return base64.b64decode(case["b64"])


def published(path: str) -> Path:
    """A published file. If it is missing, the test is skipped and says so."""
    found = PUBLISHED / path
    if not found.exists():
        pytest.skip(f"there are no published vectors in ../shared/vectors/{path}")
    return found
