"""Recomputes the event chain and the receipt of a real job, first unchanged, then with each of their parts changed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from service import Service
from vouchbox import (
    Chain,
    Client,
    EvidenceFailure,
    canonical_json,
    event_hash,
    receipt_sha256,
    verify_chain,
    verify_record,
)
from vouchbox.chain import GENESIS_HASH

History = list[dict[str, Any]]


@pytest.fixture(scope="module")
def record(service: Service) -> Iterator[tuple[History, dict[str, Any]]]:
    """The history and the receipt of a job that wrote, left a file and broke a limit."""
    code = 'echo one; echo "é\u2028" >&2; printf end; echo 1 > output/a; sleep 60'
    with Client(service.url, "key-of-tenant199") as client:
        job_id = client.run(code, language="bash", limits={"wall_seconds": 0.5}).job_id
        receipt = client.detail(job_id).get("receipt")
        assert receipt is not None
        yield cast(History, list(client.follow(job_id))), receipt


def test_the_record_of_a_job_holds_together(record: tuple[History, dict[str, Any]]) -> None:
    events, receipt = record
    kinds = [event["kind"] for event in events]
    assert {"queued", "started", "stdout", "stderr", "artifact", "violation", "finished"} <= set(kinds)
    verified = verify_record(events, receipt, job_id=receipt["job_id"])
    assert verified.chain == Chain(events[-1]["event_hash"], len(events), 0)
    assert verified.receipt_sha256 == receipt["receipt_sha256"]


def change(at: int, **members: Any) -> Callable[[History], int]:
    """Changes members of the event at an index. Returns the first sequence number that is then wrong."""

    def make(events: History) -> int:
        events[at] |= members
        return at + 1

    return make


def delete(events: History) -> int:
    del events[2]
    return 3


def swap(events: History) -> int:
    events[2], events[3] = events[3], events[2]
    return 3


def repeat(events: History) -> int:
    events.insert(2, events[1])
    return 3


def renumber(events: History) -> int:
    del events[2]
    for seq, event in enumerate(events, 1):
        event["seq"] = seq
    return 3


def cut(events: History) -> int:
    events.pop()
    return len(events) + 1


def add(events: History) -> int:
    last = events[-1]
    added = {**last, "seq": last["seq"] + 1, "prev_hash": last["event_hash"]}
    events.append({**added, "event_hash": event_hash(added)})
    return len(events)


def rewrite(events: History) -> int:
    """A valid chain of other events."""
    events[2]["data"] = {"text": "forged"}
    head = GENESIS_HASH
    for event in events:
        event["prev_hash"] = head
        head = event["event_hash"] = event_hash(event)
    return len(events)


SPOILED: list[tuple[str, str, Callable[[History], int]]] = [
    ("other data", "digest", change(2, data={"text": "forged"})),
    ("another time", "digest", change(1, timestamp="2026-01-01T00:00:00.001Z")),
    ("another kind", "digest", change(2, kind="other")),
    ("another digest", "digest", change(3, event_hash="ab" * 32)),
    ("data without a canonical form", "digest", change(2, data={"text": "\ud800"})),
    ("another predecessor", "link", change(3, prev_hash="ab" * 32)),
    ("another number", "sequence", change(3, seq=9)),
    ("a number that is true", "sequence", change(0, seq=True)),
    ("another job", "job", change(3, job_id="job_2")),
    ("an older version", "hash_version", change(1, hash_version=0)),
    ("an older version without digests", "hash_version", change(1, hash_version=0, prev_hash=None, event_hash=None)),
    ("an unknown version", "hash_version", change(1, hash_version=2)),
    ("a deleted event", "sequence", delete),
    ("swapped events", "sequence", swap),
    ("a repeated event", "sequence", repeat),
    ("a deleted event with the rest renumbered", "link", renumber),
    ("a cut-off end", "missing", cut),
    ("an added event", "surplus", add),
    ("a chain that was rewritten as a whole", "head", rewrite),
]


@pytest.mark.parametrize(("fault", "spoil"), [row[1:] for row in SPOILED], ids=[row[0] for row in SPOILED])
def test_a_spoiled_history_is_refused_at_its_first_wrong_event(
    record: tuple[History, dict[str, Any]], fault: str, spoil: Callable[[History], int]
) -> None:
    events, receipt = copy.deepcopy(record)
    seq = spoil(events)
    with pytest.raises(EvidenceFailure) as failure:
        verify_record(events, receipt, job_id=receipt["job_id"])
    assert (failure.value.check, failure.value.seq) == (fault, seq)


def test_events_of_the_first_version_before_hashed_ones_count_as_unverifiable(record: tuple[History, dict[str, Any]]) -> None:
    unhashed: dict[str, Any] = {"hash_version": 0, "prev_hash": None, "event_hash": None}
    migrated: dict[str, Any] = {**unhashed, "job_id": "job_1", "kind": "x", "data": {}}
    assert verify_chain([{**migrated, "seq": 1}, {**migrated, "seq": 2}]) == Chain(GENESIS_HASH, 0, 2)


def changed_receipt(receipt: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A receipt with changed members that is sealed again. Only the comparison with the events can find the change."""
    changed = {**receipt, **members}
    return {**changed, "receipt_sha256": receipt_sha256(changed)}


@pytest.mark.parametrize(
    ("check", "members"),
    [
        ("finished", {"status": "succeeded"}),
        ("finished", {"exit_code": 7}),
        ("output", {"output": {}}),
        ("artifacts", {"output_artifacts": []}),
        ("receipt", {"job_id": "job_2"}),
    ],
)
def test_a_receipt_that_says_something_else_than_the_events_is_refused(
    record: tuple[History, dict[str, Any]], check: str, members: dict[str, Any]
) -> None:
    events, receipt = record
    with pytest.raises(EvidenceFailure) as failure:
        verify_record(events, changed_receipt(receipt, **members), job_id=receipt["job_id"])
    assert failure.value.check == check


@pytest.mark.parametrize("name", ["hash_version", "genesis", "complete"])
def test_each_member_of_the_summary_is_compared(record: tuple[History, dict[str, Any]], name: str) -> None:
    events, receipt = record
    summary = {**receipt["event_chain"], name: None}
    with pytest.raises(EvidenceFailure, match="chain_summary"):
        verify_record(events, changed_receipt(receipt, event_chain=summary), job_id=receipt["job_id"])


def test_the_digest_of_a_receipt_covers_every_member(record: tuple[History, dict[str, Any]]) -> None:
    _, receipt = record
    for name in receipt:
        if name != "receipt_sha256":
            assert receipt_sha256({**receipt, name: "other"}) != receipt["receipt_sha256"]
    assert canonical_json(receipt).startswith(b"{")
