"""What a compiler's end says about the program, if both ran in one job."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .contract import Violation

_ABOUT_PROGRAM = re.compile(
    r"^[^\s:]+:\d+(:\d+)?: (fatal )?error: |undefined reference to|multiple definition of|relocation truncated to fit",
    re.IGNORECASE | re.MULTILINE,
)
"""Errors in the program, as compilers report them: with a line or a symbol of the program."""

_ABOUT_LIMIT = re.compile(
    r"no space left on device|cannot allocate memory|file too large|resource temporarily unavailable|out of memory"
    r"|out of resources|signal terminated program|terminated with signal",
    re.IGNORECASE,
)
"""Messages from a compiler that a limit stopped or hindered. They count even if the compiler also names a line."""


def compiler_problem(terminal_reason: str | None, violations: Sequence[Violation], stderr: str) -> str | None:
    """Why the end of a test says nothing about the program: the compiler reached a limit. None if the compiler reached no limit.

    If the kernel counts the limit, a violation names it. All other limits are known only from the compiler's messages.
    """
    met = [v["message"] for v in violations if v.get("phase") == "compile" and v["type"] != "compile"]
    if met:
        return f"the compiler met a limit: {'; '.join(met)}"
    if terminal_reason != "compile_failed":
        return None
    for line in stderr.split("\n"):
        if _ABOUT_LIMIT.search(line):
            return f"the compiler met a limit: {line[:300]}"
    if _ABOUT_PROGRAM.search(stderr):
        return None
    return "the compiler failed, and its recorded output names no error in the program"
