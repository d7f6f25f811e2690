"""Recomputes the hash chain of a job's history, as an auditor does who trusts no stored digest.

An event's digest is SHA-256 over `svc.event.v1`, a line feed, and the canonical JSON of its `data`, `job_id`, `kind`,
`prev_hash`, `seq` and `timestamp`. The first event follows 64 zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias

from .canonical_json import canonical_json, sha256_hex
from .failures import EvidenceFailure

GENESIS_HASH = "0" * 64
HASH_VERSION = 1
_DOMAIN = b"svc.event.v1\n"
_LINKED = ("data", "job_id", "kind", "prev_hash", "seq", "timestamp")

ChainFault: TypeAlias = Literal["sequence", "job", "hash_version", "link", "digest", "missing", "surplus", "head"]

_FAULTS: dict[ChainFault, str] = {
    "sequence": "another event is in its place",
    "job": "it belongs to another job",
    "hash_version": "its hash version is unknown, or older than that of an event before it",
    "link": "its prev_hash is not the digest of the event before it",
    "digest": "its event_hash does not follow from its members",
    "missing": "it is missing: more events were recorded than there are",
    "surplus": "it is one more than was recorded",
    "head": "its event_hash is not the recorded head",
}


@dataclass(frozen=True, slots=True)
class Chain:
    """What recomputing every link of a history has shown."""

    head: str
    """The digest of the last event."""
    count: int
    """Events whose digests were recomputed."""
    unverifiable: int
    """Earlier events from the first version. They have no digests and prove nothing."""


def event_hash(event: Mapping[str, Any]) -> str:
    """The digest of one event with its own `prev_hash`. Raises ValueError if the event has no canonical form."""
    return sha256_hex(_DOMAIN + canonical_json({name: event.get(name) for name in _LINKED}))


def verify_chain(
    events: Iterable[Mapping[str, Any]],
    *,
    job_id: str | None = None,
    head: str | None = None,
    count: int | None = None,
) -> Chain:
    """Recomputes every link of a complete history, in the order in which it was served.

    `job_id`, `head` and `count` are facts from elsewhere, for example from a receipt. Without `count` and `head`, nobody notices
    that the end of the history is missing. Raises `EvidenceFailure` with the first wrong event; its `check` is a `ChainFault`.
    """
    at = GENESIS_HASH
    hashed = seq = 0
    for seq, event in enumerate(events, 1):
        job_id = event.get("job_id") if job_id is None else job_id
        fault = _fault_of(event, seq, job_id, at, hashed)
        if fault is not None:
            _fail(fault, seq)
        if event["hash_version"] == HASH_VERSION:
            hashed += 1
            if count is not None and hashed > count:
                _fail("surplus", seq)
            at = str(event["event_hash"])
    if count is not None and hashed < count:
        _fail("missing", seq + 1)
    if head is not None and head != at:
        _fail("head", seq)
    return Chain(at, hashed, seq - hashed)


def _fail(fault: ChainFault, seq: int) -> NoReturn:
    raise EvidenceFailure(fault, f"event {seq}: {_FAULTS[fault]}", seq=seq)


def _fault_of(event: Mapping[str, Any], seq: int, job_id: str | None, at: str, hashed: int) -> ChainFault | None:
    if type(event.get("seq")) is not int or event["seq"] != seq:
        return "sequence"
    if event.get("job_id") != job_id:
        return "job"
    version = event.get("hash_version")
    if type(version) is not int or version not in (0, HASH_VERSION):
        return "hash_version"
    if version == 0:
        is_migrated = hashed == 0 and event.get("prev_hash") is None and event.get("event_hash") is None
        return None if is_migrated else "hash_version"
    if event.get("prev_hash") != at:
        return "link"
    return None if _has_its_digest(event) else "digest"


def _has_its_digest(event: Mapping[str, Any]) -> bool:
    try:
        return event.get("event_hash") == event_hash(event)
    except ValueError:
        return False
