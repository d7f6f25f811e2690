"""How a call can fail.

`ServiceFailure` is a refusal by the service, with one class for each code of the contract. `TransportFailure` says that no
usable answer came. `EvidenceFailure` says that what the service recorded does not hold together. Act on the class, on `code`
and on `reason`; the text of a message may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from .promise import JobPromise


class VouchboxError(Exception):
    """Everything that this package raises about a service."""


class ServiceFailure(VouchboxError):
    """The service refused the request with its error envelope. An unknown code is raised as this class itself."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int,
        retryable: bool,
        request_id: str | None = None,
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        """The HTTP status."""
        self.retryable = retryable
        """Whether the same request may succeed later."""
        self.request_id = request_id
        """The id by which an operator finds the request."""
        self.retry_after_seconds = retry_after_seconds
        """The seconds in `Retry-After`; None if the service gave none."""
        self.job_id: str | None = None
        """The job that was accepted before a run failed; None without such a job, and for other calls."""
        self.grading_id: str | None = None
        """The grading that was accepted before `grade` failed; None without such a grading, and for other calls."""
        self.promise: JobPromise | None = None
        """The promise of that job, if it was fetched."""

    def __str__(self) -> str:
        return f"{self.code}: {self.args[0]}"


class InvalidRequest(ServiceFailure):
    """The request does not fit its schema."""


class InvalidJson(ServiceFailure):
    """The body is not one strict JSON value."""


class UnsupportedLanguage(ServiceFailure):
    """The language is not one the service knows."""


class NetworkNotAllowed(ServiceFailure):
    """Network egress is never granted."""


class Unauthorized(ServiceFailure):
    """The credential is missing or invalid."""


class InsufficientScope(ServiceFailure):
    """The credential lacks a scope that the request needs."""


class PrincipalNotAllowed(ServiceFailure):
    """Only the principal that submitted the job may do this; those that the submission names may answer calls of tools, too."""


class JobNotFound(ServiceFailure):
    """No such job belongs to the tenant."""


class SessionNotFound(ServiceFailure):
    """The principal has no such session."""


class ToolCallNotFound(ServiceFailure):
    """The job made no such call of a tool, or the service answered it itself."""


class LinksDisabled(ServiceFailure):
    """The operator allows no links to results."""


class LinkNotFound(ServiceFailure):
    """The link does not exist or has ended."""


class GradingNotFound(ServiceFailure):
    """No such grading belongs to the tenant."""


class BlobNotFound(ServiceFailure):
    """The tenant does not have the blob, or no longer has it."""


class BlobUnavailable(ServiceFailure):
    """A file names a blob that the tenant does not have, or no longer has."""


class InputUnavailable(ServiceFailure):
    """A file names an output of a job that is unknown, has not ended or lacks the output."""


class DigestMismatch(ServiceFailure):
    """The address names the digest of another body."""


class RouteNotFound(ServiceFailure):
    """No such route."""


class AttestationUnavailable(ServiceFailure):
    """The job ended and is not signed yet."""


class AttestationDisabled(ServiceFailure):
    """The operator has turned signing off."""


class LogProofUnavailable(ServiceFailure):
    """The log does not have the job yet."""


class NotLogged(ServiceFailure):
    """No log is kept, or none was kept when the job was signed."""


class PromiseUnavailable(ServiceFailure):
    """The promise is not signed yet."""


class NotPromised(ServiceFailure):
    """The job was accepted without a promise."""
class CanaryNotFound(ServiceFailure):
    """The job names no canary, or one that is no longer kept."""


class SigningKeyUnknown(ServiceFailure):
    """The job was signed with a key that the service does not have."""


class MethodNotAllowed(ServiceFailure):
    """The route does not take this method."""


class BodyTimeout(ServiceFailure):
    """The body did not arrive in time."""


class JobNotTerminal(ServiceFailure):
    """The job has not ended yet."""


class JobTerminal(ServiceFailure):
    """The job has ended."""


class ToolCallAnswered(ServiceFailure):
    """The call has another answer already."""


class SessionConflict(ServiceFailure):
    """The session is not where the submission says, or another of its steps still runs."""


class ToolResultMisfit(ServiceFailure):
    """The result does not fit the tool's schema, and the call is still open."""


class PayloadTooLarge(ServiceFailure):
    """The body or a part of it is over its bound."""


class UnsupportedMediaType(ServiceFailure):
    """The body is not plain application/json."""


class ExpectationFailed(ServiceFailure):
    """The Expect header asks for something unknown."""


class RuntimeUnavailable(ServiceFailure):
    """The language or runtime pack is not available here."""


class MinimumIsolationUnsatisfied(ServiceFailure):
    """This service isolates less than was demanded."""


class EnforcementUnsatisfied(ServiceFailure):
    """This service does not hold a limit that must be held."""


class PromiseNotOffered(ServiceFailure):
    """The service keeps no log, so it promises nothing."""


class IdempotencyKeyReused(ServiceFailure):
    """The key was used for another job specification or grading."""


class RateLimited(ServiceFailure):
    """The tenant's request budget is spent."""


class TenantCapacityExhausted(ServiceFailure):
    """The tenant holds as many of these as it may."""


class HeadTooLarge(ServiceFailure):
    """The request head is over its bound."""


class Internal(ServiceFailure):
    """The service failed; the request id finds it in the log."""


class QueueFull(ServiceFailure):
    """The queue is full."""


class CapacityExhausted(ServiceFailure):
    """The service has no capacity for this at present."""


class StoreUnavailable(ServiceFailure):
    """The service cannot reach its stored data at present."""


class IssuerUnavailable(ServiceFailure):
    """The keys of the token issuer cannot be read."""


class WorkerUnavailable(ServiceFailure):
    """No cell can be made at present."""


class ShuttingDown(ServiceFailure):
    """The service is stopping."""


class InsufficientStorage(ServiceFailure):
    """The free-space reserve forbids another job."""


def _code_of(name: str) -> str:
    """`JobNotFound` is `job_not_found`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


FAILURES_BY_CODE: dict[str, type[ServiceFailure]] = {
    _code_of(kind.__name__): kind for kind in ServiceFailure.__subclasses__()
}
"""The class of each code of the contract."""

TransportReason: TypeAlias = Literal["network", "timeout", "truncated", "undecodable", "unstructured", "digest"]


class TransportFailure(VouchboxError):
    """No usable answer came. Whether the service acted on the request is unknown.

    `reason` is one of:

    - `network`: no answer, or the connection ended before one
    - `timeout`: no answer in time
    - `truncated`: the answer ended before its end
    - `undecodable`: a body that is not what it should be
    - `unstructured`: an HTTP error without the service's envelope, as a proxy or a wrong address gives
    - `digest`: bytes that do not have the digest they came with
    """

    def __init__(
        self,
        reason: TransportReason,
        message: str,
        *,
        status: int | None = None,
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(message)
        self.reason: TransportReason = reason
        self.status = status
        """The HTTP status, if there was one."""
        self.retry_after_seconds = retry_after_seconds
        """The seconds in `Retry-After`, if there were any: proxies send it too."""
        self.job_id: str | None = None
        """The job that was accepted before a run failed; None without such a job, and for other calls."""
        self.grading_id: str | None = None
        """The grading that was accepted before `grade` failed; None without such a grading, and for other calls."""
        self.promise: JobPromise | None = None
        """The promise of that job, if it was fetched."""

    def __str__(self) -> str:
        return f"{self.reason}: {self.args[0]}"


class EvidenceFailure(VouchboxError):
    """What is recorded of a job does not hold together, and so proves nothing."""

    def __init__(self, check: str, message: str, *, seq: int | None = None) -> None:
        super().__init__(message)
        self.check = check
        """Which check failed: a fault of the chain, `receipt`, `finished`, `output`, `artifacts`, `workspace`,
        `promise`, or, for a run that replays a transcript, `transcript`."""
        self.seq = seq
        """The first wrong event, if there is one."""
        self.job_id: str | None = None
        """The job that was accepted before a run failed; None without such a job, and for other calls."""
        self.promise: JobPromise | None = None
        """The promise of that job, if it was fetched."""

    def __str__(self) -> str:
        return f"{self.check}: {self.args[0]}"
