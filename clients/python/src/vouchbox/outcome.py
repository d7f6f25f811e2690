"""The outcome of a job, parsed once from the contract's bodies."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, cast

from .canonical_json import sha256_hex
from .contract import ArtifactRecord, Interaction, JobStatus, LimitsInput, Violation
from .failures import TransportFailure

if TYPE_CHECKING:
    from .promise import JobPromise


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A job's outcome and output so far."""

    job_id: str
    status: JobStatus
    exit_code: int | None
    duration_ms: int | None
    stdout: str
    stderr: str
    truncated: bool
    """Whether the program wrote more than is kept."""
    violations: tuple[Violation, ...]
    files: Mapping[str, bytes] = field(repr=False)
    """Files that the program left, keyed by path, such as `output/plot.png`. Each has the digest that the service recorded."""
    large_outputs: tuple[ArtifactRecord, ...] = ()
    """The large outputs that the program left. `download` fetches their bytes by digest."""

    @property
    def is_terminal(self) -> bool:
        """Whether the job has ended."""
        return is_terminal(self.status)

    @property
    def ok(self) -> bool:
        """Whether the program ended with exit code 0 and within its limits."""
        return self.status == "succeeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult(Result):
    """The result of a job that ended, with what the receipt says about how it ran."""

    terminal_reason: str | None
    signal: str | None
    isolation_class: str | None
    """What separated the program from the host, as observed while it ran. None if nothing was observed."""
    effective_limits: Mapping[str, float | None] | None
    """The limits that were in force; None if no program ran. A limit that was not observed is None."""
    clamped: Mapping[str, float]
    """The requested limits that the service's ceilings changed, each with the value in force."""
    lost: tuple[Violation, ...]
    """The files that did not come back, and why: too large, too many, not a file, not written. Empty if nothing is lost."""
    receipt_sha256: str
    """The digest of the job's receipt."""
    receipt: Mapping[str, Any] = field(repr=False)
    promise: JobPromise | None = None
    """The signed promise for the job; None if none was requested or none came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A job that the service has stored."""

    job_id: str
    status: JobStatus
    created_at: str
    replayed: bool
    """Whether the key already belonged to this job."""
    idempotency_key: str
    result: Result | None = None
    """The result, if the service waited for it and the job ended in time."""
    interaction: Interaction | None = None
    """The interactor's job, if the submission has an interactor."""
    receipt: Mapping[str, Any] | None = field(default=None, repr=False)
    """The receipt, if it was requested with the result."""
    promise: JobPromise | None = None
    """The signed promise; None if none was requested or none came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactBytes:
    """Stored bytes, unchanged. They have the digest that came with them."""

    data: bytes = field(repr=False)
    sha256: str
    media_type: str


def is_terminal(status: str) -> bool:
    """Whether a job with this status has ended for good."""
    return status not in ("queued", "running")


def parse_result(body: Mapping[str, Any]) -> Result:
    """The result in an answer's body. Each file must have the size and the digest that the body states."""
    try:
        return Result(
            job_id=str(body["job_id"]),
            status=cast(JobStatus, str(body["status"])),
            exit_code=body["exit_code"],
            duration_ms=body["duration_ms"],
            stdout=str(body["stdout"]),
            stderr=str(body["stderr"]),
            truncated=bool(body["truncated"]),
            violations=tuple(body["violations"]),
            files={str(artifact["path"]): _content_of(artifact) for artifact in body["artifacts"]},
            large_outputs=tuple(body.get("large_outputs", ())),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise TransportFailure("undecodable", "the answer is not a result") from error


def run_result_of(
    result: Result, receipt: Mapping[str, Any] | None, asked: LimitsInput | None = None
) -> RunResult:
    """A terminal result together with its job's receipt. `asked` has the requested limits."""
    digest = (receipt or {}).get("receipt_sha256")
    if receipt is None or digest is None:
        raise TransportFailure("undecodable", f"{result.job_id} has no receipt")
    return RunResult(
        **{member.name: getattr(result, member.name) for member in fields(result)},
        terminal_reason=receipt.get("terminal_reason"),
        signal=receipt.get("signal"),
        isolation_class=receipt.get("isolation_class"),
        effective_limits=receipt.get("effective_limits"),
        clamped=_clamped(asked or {}, receipt.get("effective_limits") or {}),
        lost=tuple(one for one in result.violations if one["type"].startswith("output_")),
        receipt_sha256=digest,
        receipt=receipt,
    )


def _clamped(asked: LimitsInput, held: Mapping[str, float | None]) -> dict[str, float]:
    given = {name: held.get(name) for name, value in asked.items() if name in held and held[name] != value}
    return {name: value for name, value in given.items() if value is not None}


def parse_submitted(body: Mapping[str, Any], *, replayed: bool, idempotency_key: str) -> Submitted:
    """The answer to a submission."""
    try:
        return Submitted(
            job_id=str(body["job_id"]),
            status=cast(JobStatus, str(body["status"])),
            created_at=str(body["created_at"]),
            replayed=replayed,
            idempotency_key=idempotency_key,
            result=parse_result(body["result"]) if "result" in body else None,
            interaction=body.get("interaction"),
            receipt=body.get("receipt"),
        )
    except KeyError as error:
        raise TransportFailure("undecodable", "the answer does not name a job") from error


def _content_of(artifact: Mapping[str, Any]) -> bytes:
    content = b64decode(artifact["content_base64"], validate=True)
    if len(content) != artifact["size_bytes"] or sha256_hex(content) != artifact["sha256"]:
        raise TransportFailure("digest", f"{artifact['path']} does not have the digest that is stated with it")
    return content
