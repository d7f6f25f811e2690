"""Compares a job's history and its receipt with each other. Every link of the chain and every digest is recomputed.

This shows that the record is whole, but not who made it. The attestation shows who made it: `service-verify` checks it
offline against a key that you pinned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from .canonical_json import canonical_json, sha256_hex
from .chain import GENESIS_HASH, HASH_VERSION, Chain, verify_chain
from .contract import OUTPUT_ENCODING
from .effects import Flow
from .failures import EvidenceFailure
from .follow import Follower
from .jobs import detail
from .outcome import is_terminal
from .session import Session

_OUTCOME = ("status", "exit_code", "signal", "terminal_reason", "duration_ms")


@dataclass(frozen=True, slots=True)
class Verified:
    """A record in which nothing contradicts anything else."""

    job_id: str
    chain: Chain
    receipt_sha256: str


def verify(session: Session, job_id: str) -> Flow[Verified]:
    """Reads the whole history and the receipt of a job that ended, and recomputes both.

    Raises `EvidenceFailure` with what is wrong. Success shows that nothing was later changed, dropped, inserted or moved, but not
    who made the record.
    """
    found = yield from detail(session, job_id)
    receipt = found.get("receipt")
    if not is_terminal(found["status"]) or receipt is None:
        raise EvidenceFailure("receipt", f"{job_id} is {found['status']} and has no receipt yet")
    events: list[Mapping[str, Any]] = []
    follower = Follower(session, job_id)
    while page := (yield from follower.next_events()):
        events.extend(cast("Sequence[Mapping[str, Any]]", page))
    return verify_record(events, receipt, job_id=job_id)


def verify_record(events: Sequence[Mapping[str, Any]], receipt: Mapping[str, Any], *, job_id: str) -> Verified:
    """Recomputes a complete history and a receipt, and compares everything that they say about each other.

    A receipt from an older version has fewer members. Members that it lacks are not checked.
    """
    digest = receipt_sha256(receipt)
    if receipt.get("receipt_sha256") != digest:
        raise EvidenceFailure("receipt", "it does not have the digest that it states")
    if receipt.get("job_id") != job_id:
        raise EvidenceFailure("receipt", "it belongs to another job")
    summary = receipt.get("event_chain")
    stated: Mapping[str, Any] = cast("Mapping[str, Any]", summary) if isinstance(summary, Mapping) else {}
    chain = verify_chain(events, job_id=job_id, head=stated.get("head"), count=stated.get("count"))
    _compare("chain_summary", stated, _summary_of(chain) if stated else {})
    _check_finished(events, receipt)
    if "output" in receipt:
        _compare("output", receipt["output"], _output_of(events))
    if "output_artifacts" in receipt:
        _compare("artifacts", receipt["output_artifacts"], _data_of(events, "artifact"))
    # If the job requested no large outputs, the receipt has no such member and the history no such event.
    _compare("artifacts", receipt.get("large_outputs", []), _data_of(events, "large_output"))
    return Verified(job_id, chain, digest)


def receipt_sha256(receipt: Mapping[str, Any]) -> str:
    """The digest of a receipt. It covers the receipt's canonical JSON without the member that states the digest."""
    try:
        return sha256_hex(canonical_json({name: receipt[name] for name in receipt if name != "receipt_sha256"}))
    except ValueError as error:
        raise EvidenceFailure("receipt", "it has no canonical form") from error


def _summary_of(chain: Chain) -> dict[str, Any]:
    complete = chain.unverifiable == 0
    return {
        "hash_version": HASH_VERSION,
        "genesis": GENESIS_HASH,
        "head": chain.head,
        "count": chain.count,
        "complete": complete,
    }


def _check_finished(events: Sequence[Mapping[str, Any]], receipt: Mapping[str, Any]) -> None:
    if [event["kind"] == "finished" for event in events].count(True) != 1 or events[-1]["kind"] != "finished":
        raise EvidenceFailure("finished", "the history must have exactly one event of the kind finished, at its end")
    end = events[-1]["data"]
    for name in _OUTCOME:
        if name in receipt and name in end and receipt[name] != end[name]:
            raise EvidenceFailure("finished", f"the receipt has another {name}", seq=len(events))


def _output_of(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    evidence: dict[str, Any] = {"encoding": OUTPUT_ENCODING}
    for stream in ("stdout", "stderr"):
        lines = [record["text"] for record in _data_of(events, stream)]
        joined = "\n".join(lines).encode()
        evidence[f"{stream}_bytes"] = len(joined)
        evidence[f"{stream}_records"] = len(lines)
        evidence[f"{stream}_sha256"] = sha256_hex(joined)
    return evidence


def _data_of(events: Sequence[Mapping[str, Any]], kind: str) -> list[Any]:
    return [event["data"] for event in events if event["kind"] == kind]


def _compare(check: str, stated: object, found: object) -> None:
    if canonical_json(stated) != canonical_json(found):
        raise EvidenceFailure(check, "the receipt differs from the events")
