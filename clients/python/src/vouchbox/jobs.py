"""The calls about jobs. Each is one flow."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast
from urllib.parse import quote

from .answer_check import check_about, check_answer
from .ask_until_ended import ask_until_ended
from .canonical_json import sha256_hex
from .contract import (
    LIST_LIMIT_MAX,
    CancellationAnswer,
    Capabilities,
    EndingPage,
    FileContent,
    IsolationClass,
    JobDetail,
    JobListItem,
    JobStatus,
    JobSubmission,
    Libraries,
    LimitsInput,
    PendingStatements,
    PublicKey,
    StoredBlob,
    Whoami,
)
from .effects import Answer, Emit, Flow, Request, Stream
from .failures import EvidenceFailure, ServiceFailure, TransportFailure
from .outcome import ExactBytes, Result, Submitted, is_terminal, parse_result, parse_submitted
from .promise import Accepted, PromiseWish, kept_promise, makes_promises, signed_promise
from .session import Session, call, decode, exact_bytes, job_path, path_of, read, said_of_itself
from .submission import body_of, bytes_of, submission_of


def submit(
    session: Session,
    program: str | JobSubmission,
    *,
    language: str | None = None,
    files: Mapping[str, FileContent] | None = None,
    outputs: Sequence[str] | None = None,
    stdin: str | None = None,
    args: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    runtime: str | None = None,
    minimum_isolation: IsolationClass | None = None,
    limits: LimitsInput | None = None,
    reproducible: bool | None = None,
    libraries: Libraries | StoredBlob | None = None,
    labels: Sequence[str] | None = None,
    sign_labels: bool | None = None,
    idempotency_key: str | None = None,
    promise: PromiseWish = False,
) -> Flow[Submitted]:
    """Stores a job without waiting for it to end.

    `program` is code in `language` (default `python`), or a whole submission as the contract defines it. `files` has the content
    of each input file; `data.csv` is `input/data.csv` in the cell. The contract allows 32 files of 2 MiB each, and 4 MiB in all.
    Upload a larger file first, and give what `upload` returned as its content. `libraries` is what `upload` returned for an
    archive of packages.

    A lost answer does no harm: the request is repeated with the same `idempotency_key` and names the same job.

    With `promise`, a promise is requested and fetched if the service has the feature `job_promises`. With `"required"`, the call
    fails if there is no promise.
    """
    submission = submission_of(
        program,
        language=language,
        files=files,
        outputs=outputs,
        stdin=stdin,
        args=args,
        env=env,
        runtime=runtime,
        minimum_isolation=minimum_isolation,
        limits=limits,
        reproducible=reproducible,
        libraries=libraries,
        labels=labels,
        sign_labels=sign_labels,
    )
    key = idempotency_key or random_key()
    return (yield from submitted_with(session, submission, key, promise))


def submitted_with(
    session: Session,
    submission: JobSubmission,
    key: str,
    wish: PromiseWish,
    wait_seconds: float | None = None,
    include: str | None = None,
) -> Flow[Submitted]:
    """Stores a job and fetches its promise, if one is requested. An error names the accepted job."""
    is_promised = yield from makes_promises(session, wish)
    body = cast(JobSubmission, {**submission, "promise": True}) if is_promised else submission
    if is_promised and wait_seconds:  # The promise comes with an answer that waits.
        include = "promise" if include is None else f"{include},promise"
    above = session.highest_number
    answer = yield from call(session, submission_request(body, key, wait_seconds, include))
    told = _told_in(answer)
    submitted = parse_submitted(told, replayed=_is_replayed(answer), idempotency_key=key)
    if not is_promised:
        return submitted
    accepted = Accepted(
        submission=body,
        job_id=submitted.job_id,
        created_at=submitted.created_at,
        replayed=submitted.replayed,
        above=above,
        promise=told.get("promise"),
    )
    try:
        return replace(submitted, promise=(yield from kept_promise(session, accepted, wish)))
    except (ServiceFailure, TransportFailure, EvidenceFailure) as failure:
        failure.job_id = submitted.job_id
        raise


def random_key() -> str:
    """128 random bits."""
    return secrets.token_hex(16)


def submission_request(
    submission: JobSubmission, idempotency_key: str, wait_seconds: float | None = None, include: str | None = None
) -> Request:
    """The request that stores a job. With `wait_seconds`, the answer also waits for the result and what `include` names."""
    headers = {"accept": "application/json", "content-type": "application/json", "idempotency-key": idempotency_key}
    path = path_of("/v1/jobs", wait_seconds=wait_seconds, include=include)
    return Request("POST", path, headers, body_of(submission), wait_seconds or 0.0)


def submitted_of(answer: Answer, idempotency_key: str) -> Submitted:
    """The job that an answer to a submission names."""
    return parse_submitted(_told_in(answer), replayed=_is_replayed(answer), idempotency_key=idempotency_key)


def _told_in(answer: Answer) -> dict[str, Any]:
    body = decode(answer)
    check_answer("POST /v1/jobs", body)
    for part in ("result", "receipt"):
        check_about(body.get(part) or {}, body["job_id"])
    return body


def _is_replayed(answer: Answer) -> bool:
    return answer.headers.get("idempotency-replayed") == "true"


def detail(session: Session, job_id: str) -> Flow[JobDetail]:
    """Everything about a job, including the receipt once the job has ended. To wait for the end, use `wait`."""
    return cast(JobDetail, (yield from read(session, job_path(job_id), route="GET /v1/jobs/{id}", job_id=job_id)))


def cancel(session: Session, job_id: str) -> Flow[CancellationAnswer]:
    """Asks the service to end a job. A job that has already ended stays as it is, and `already_terminal` says so."""
    body = decode((yield from call(session, cancel_request(job_id))))
    check_answer("DELETE /v1/jobs/{id}", body, job_id)
    return cast(CancellationAnswer, body)


def cancel_request(job_id: str) -> Request:
    """The request that asks the service to end a job."""
    return Request("DELETE", job_path(job_id), {"accept": "application/json"})


def result(session: Session, job_id: str, *, wait_seconds: float = 0.0) -> Flow[Result]:
    """The state of the result after at most `wait_seconds` (0 to 300), whether the job has ended or not."""
    path = job_path(job_id, "/result", wait_seconds=wait_seconds or None)
    route = "GET /v1/jobs/{id}/result"
    return parse_result((yield from read(session, path, route=route, job_id=job_id, wait_seconds=wait_seconds)))


def wait(session: Session, job_id: str, *, timeout_seconds: float | None = None) -> Flow[Result]:
    """Waits until the job has ended, and returns the result. The service holds the request; nothing is polled.

    Raises `TransportFailure` with the reason `timeout` once `timeout_seconds` are over. The job goes on. Over a slow connection,
    the last request may end later: connecting may take all of the remaining time, and the answer as long again. With 0, one
    request asks whether the job has ended.
    """
    return (
        yield from ask_until_ended(
            session,
            job_id,
            lambda asking, seconds: result(asking, job_id, wait_seconds=seconds),
            lambda found: is_terminal(found.status),
            timeout_seconds,
        )
    )


def replay(
    session: Session,
    job_id: str,
    *,
    after: int = 0,
    limit: int = 500,
    wait_seconds: float = 0.0,
    include: str | None = None,
) -> Flow[EndingPage]:
    """A page of a job's stored events. Nothing runs again.

    `next_cursor` is the `after` for the next page, and None once `finished` was delivered. With `wait_seconds`, the service
    answers as soon as there is an event after the cursor, if it has the feature `replay_wait`. With `include` (`result,receipt`),
    the last page has these too, if the service has the feature `replay_include`.
    """
    path = job_path(job_id, "/replay", after=after, limit=limit, wait_seconds=wait_seconds or None, include=include)
    body = yield from read(session, path, route="GET /v1/jobs/{id}/replay", wait_seconds=wait_seconds)
    for part in ("result", "receipt"):
        check_about(body.get(part) or {}, job_id)
    return cast(EndingPage, body)


def jobs(
    session: Session,
    *,
    status: JobStatus | Iterable[JobStatus] | None = None,
    language: str | None = None,
    label: str | None = None,
) -> Stream[JobListItem]:
    """Every job of the tenant with one of these statuses, this language and this label, newest first."""
    statuses = status if status is None or isinstance(status, str) else ",".join(status)
    cursor: str | None = None
    while True:
        query = {"cursor": cursor, "status": statuses, "language": language, "label": label}
        path = path_of("/v1/jobs", limit=LIST_LIMIT_MAX, **query)
        page = yield from read(session, path, route="GET /v1/jobs")
        for item in page["items"]:
            yield Emit(cast(JobListItem, item))
        cursor = page["next_cursor"]
        if cursor is None:
            return


def capabilities(session: Session) -> Flow[Capabilities]:
    """What the service can run, and its bounds."""
    body = yield from said_of_itself(session)
    check_answer("GET /v1/capabilities", body)
    return cast(Capabilities, body)


def whoami(session: Session) -> Flow[Whoami]:
    """Whom the credential identifies."""
    return cast(Whoami, (yield from read(session, "/v1/whoami", route="GET /v1/whoami")))


def public_key(session: Session) -> Flow[PublicKey]:
    """The service's present signing key. It is not a trust anchor: pin a key that you got in another way.
    """
    return cast(PublicKey, (yield from read(session, "/v1/attestation/public-key", route="GET /v1/attestation/public-key")))


def attestation(session: Session, job_id: str) -> Flow[ExactBytes]:
    """The signed DSSE envelope, byte for byte. Raises `AttestationUnavailable` until it is signed, just after the end."""
    return (yield from _evidence(session, job_id, "attestation"))


def result_artifact(session: Session, job_id: str) -> Flow[ExactBytes]:
    """The result that the attestation covers, byte for byte."""
    return (yield from _evidence(session, job_id, "result-artifact"))


def log_proof(session: Session, job_id: str) -> Flow[ExactBytes]:
    """The proof that the log has the envelope, for the latest head. Raises `LogProofUnavailable` until the log has it."""
    return (yield from _evidence(session, job_id, "log-proof"))


def promise(session: Session, job_id: str, *, wait_seconds: float = 0.0) -> Flow[ExactBytes]:
    """The signed promise that the log answers in time. Raises `PromiseUnavailable` if none comes in `wait_seconds`."""
    return (yield from signed_promise(session, job_id, wait_seconds))


def pending(session: Session, job_id: str) -> Flow[PendingStatements]:
    """What the log says about a job that waited longer than was promised."""
    route = "GET /v1/jobs/{id}/pending"
    return cast(PendingStatements, (yield from read(session, job_path(job_id, "/pending"), route=route)))


def canary(session: Session, job_id: str) -> Flow[ExactBytes]:
    """The envelope of the canary that the job's own envelope names. Raises `CanaryNotFound` if none is named or kept."""
    return (yield from _evidence(session, job_id, "canary"))


def upload(session: Session, content: bytes | str) -> Flow[StoredBlob]:
    """Stores a file of at most 64 MiB, so that submissions can name it in `files`. The same file may be uploaded again.

    The service removes the file once no job has named it for the time that the capabilities state.
    """
    body = bytes_of(content)
    headers = {"content-type": "application/octet-stream"}
    sha256 = sha256_hex(body)
    stored = decode((yield from call(session, Request("PUT", _blob_path(sha256), headers, body))))
    check_answer("PUT /v1/blobs/sha256/{sha256}", stored)
    if stored["blob"] != f"sha256:{sha256}":
        raise TransportFailure("digest", "the service stored another file")
    return cast(StoredBlob, stored)


def download(session: Session, blob: str) -> Flow[ExactBytes]:
    """The uploaded file with this `sha256:…`. Bytes with another digest are refused."""
    sha256 = blob.removeprefix("sha256:")
    answer = yield from call(session, Request("GET", _blob_path(sha256), {"accept": "*/*"}))
    if sha256_hex(answer.body) != sha256:
        raise TransportFailure("digest", f"the answer is not {blob}")
    return ExactBytes(data=answer.body, sha256=sha256, media_type=answer.headers.get("content-type", ""))


def _blob_path(sha256: str) -> str:
    return f"/v1/blobs/sha256/{quote(sha256, safe='')}"


def _evidence(
    session: Session, job_id: str, name: Literal["attestation", "result-artifact", "log-proof", "canary"]
) -> Flow[ExactBytes]:
    return (yield from exact_bytes(session, job_path(job_id, f"/{name}")))
