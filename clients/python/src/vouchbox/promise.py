"""The promise for a job. It comes with the answer to a submission that waits for its result, or is fetched after the answer.

The promise is returned as it was signed. This module checks that it is for this submission and tenant and has a higher number
than earlier jobs. `service-verify promise` checks whether the pinned key signed it.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, cast

from .canonical_json import canonical_json, sha256_hex
from .contract import JobSubmission
from .effects import Flow
from .failures import EvidenceFailure, NotPromised, PromiseUnavailable
from .outcome import ExactBytes
from .session import Session, exact_bytes, job_path, read, supports
from .session import accepted as outlasting
from .strict_json import parse_strict

PromiseWish: TypeAlias = bool | Literal["required"]
"""Whether a run or a submission fetches its promise, or fails without one."""

_PROMISE_TYPE: Final = "urn:svc:predicate:job-accepted:v1"
_STATEMENT_MEDIA_TYPE: Final = "application/vnd.in-toto+json"
_SIGNING_SECONDS_MAX: Final = 20.0
"""Signing takes milliseconds. It takes longer only while the signing node is away."""
_TEXTS: Final = ("jobId", "tenant", "acceptedAt", "answerBy", "logOrigin", "logKey")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPromise:
    """A signed promise: the bytes of its envelope, and what it says."""

    data: bytes = field(repr=False)
    job_id: str
    tenant: str
    tenant_job_number: int | None
    """The job's number among all jobs of its tenant; None if the service does not state it."""
    accepted_at: str
    answer_by: str
    """The time by which the log has the result, or a statement that the job waits."""
    log_origin: str
    log_key: str


def makes_promises(session: Session, wish: PromiseWish) -> Flow[bool]:
    """Whether to request a promise. An older service would refuse such a submission."""
    if wish is False:
        return False
    if (yield from supports(session, "job_promises")):
        return True
    if wish == "required":
        raise EvidenceFailure("promise", "the service keeps no log, so it promises nothing")
    return False


def signed_promise(session: Session, job_id: str, wait_seconds: float = 0.0) -> Flow[ExactBytes]:
    path = job_path(job_id, "/promise", wait_seconds=wait_seconds or None)
    return (yield from exact_bytes(session, path, wait_seconds=wait_seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A submission and the service's answer to it."""

    submission: JobSubmission
    job_id: str
    created_at: str
    replayed: bool
    above: int
    """The largest number that this client knew when it sent the submission."""
    promise: Mapping[str, Any] | None = None
    """The envelope of the promise, if it came with the answer."""


def kept_promise(session: Session, accepted: Accepted, wish: PromiseWish) -> Flow[JobPromise | None]:
    """The promise for a job that was just accepted; None if no promise comes and none is required.

    Raises `EvidenceFailure` if the promise is not for this submission.
    """
    try:
        if accepted.promise is not None:  # The canonical form is what was signed.
            data = canonical_json(accepted.promise)
        else:
            data = (yield from signed_promise(outlasting(session), accepted.job_id, _SIGNING_SECONDS_MAX)).data
    except (NotPromised, PromiseUnavailable):
        if wish == "required":
            raise
        return None
    promise, promised = _stated_in(data)
    if session.tenant is None:
        session.tenant = str((yield from read(outlasting(session), "/v1/whoami", route="GET /v1/whoami"))["tenant"])
    _same("job", promise.job_id, accepted.job_id)
    _same("tenant", promise.tenant, session.tenant)
    _same("time", promise.accepted_at, accepted.created_at)
    for name, expected in _expected_of(accepted.submission).items():
        _same(name, promised.get(name), expected)
    for file in accepted.submission.get("files", []):
        _check_file(cast("Mapping[str, Any]", file), promised.get("input_artifacts"))
    _check_number(session, promise.tenant_job_number, accepted)
    return promise


def _check_number(session: Session, number: int | None, accepted: Accepted) -> None:
    if number is None:
        return
    if number <= accepted.above and not accepted.replayed:
        raise EvidenceFailure(
            "promise", f"the promise has the number {number}, and an earlier job of the tenant had {accepted.above}"
        )
    session.highest_number = max(session.highest_number, number)


def _expected_of(submission: JobSubmission) -> dict[str, object]:
    """What the promise must state about a submission. Facts that the service adds are not known here."""
    args, env = submission.get("args", []), submission.get("env", {})
    stdin = cast("object", submission.get("stdin"))  # A whole submission may name stdin.
    expected: dict[str, object] = {
        "language": submission["language"],
        "runtime": submission.get("runtime"),
        "code_sha256": sha256_hex(submission["code"].encode()),
        "args_sha256": sha256_hex(canonical_json(args)) if args else None,
        "env_sha256": sha256_hex(canonical_json(env)) if env else None,
    }
    if stdin is None:
        expected["stdin_sha256"] = None
    elif isinstance(stdin, str):
        expected["stdin_sha256"] = sha256_hex(stdin.encode())
    return expected


def _check_file(file: Mapping[str, Any], promised: object) -> None:
    listed = cast("Sequence[object]", promised) if isinstance(promised, list) else ()
    artifacts = [cast("Mapping[str, object]", one) for one in listed if isinstance(one, Mapping)]
    found = next((one for one in artifacts if one.get("path") == file["path"]), None)
    if found is None:
        raise EvidenceFailure("promise", f"the promise lacks the file {file['path']}")
    if "content_base64" in file:
        _same(file["path"], found.get("sha256"), sha256_hex(b64decode(file["content_base64"])))
    elif "blob" in file:
        _same(file["path"], f"sha256:{found.get('sha256')}", file["blob"])


def _same(what: str, promised: object, expected: object) -> None:
    if promised != expected:
        raise EvidenceFailure("promise", f"the promise has another {what} than the submission")


def _stated_in(data: bytes) -> tuple[JobPromise, Mapping[str, Any]]:
    """The statement in the envelope. Its signature is not checked here."""
    try:
        envelope = _object_of(parse_strict(data))
        if envelope["payloadType"] != _STATEMENT_MEDIA_TYPE or not envelope["signatures"]:
            raise ValueError("it is not a signed statement")
        statement = _object_of(parse_strict(b64decode(envelope["payload"], validate=True)))
        predicate = _object_of(statement["predicate"])
        number = predicate.get("tenantJobNumber")
        is_number = number is None or (isinstance(number, int) and not isinstance(number, bool) and number > 0)
        is_text = all(isinstance(predicate[name], str) for name in _TEXTS)
        if statement["predicateType"] != _PROMISE_TYPE or not is_number or not is_text:
            raise ValueError("it is not about an accepted job")
        datetime.fromisoformat(predicate["answerBy"].replace("Z", "+00:00"))
        submission = _object_of(predicate["submission"])
    except (KeyError, TypeError, ValueError) as error:
        raise EvidenceFailure("promise", "the answer is not a promise of an accepted job") from error
    promise = JobPromise(
        data=data,
        job_id=predicate["jobId"],
        tenant=predicate["tenant"],
        tenant_job_number=number,
        accepted_at=predicate["acceptedAt"],
        answer_by=predicate["answerBy"],
        log_origin=predicate["logOrigin"],
        log_key=predicate["logKey"],
    )
    return promise, submission


def _object_of(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("it is not a JSON object")
    return cast("Mapping[str, Any]", value)
