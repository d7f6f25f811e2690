"""The bodies of the contract, as the service sends them. The OpenAPI document defines their names and meanings.

The service may add members and values at any time. What is not named here is still in the dictionaries.
"""

from typing import Any, Final, Literal, NotRequired, TypeAlias, TypedDict

TerminalStatus: TypeAlias = Literal["succeeded", "failed", "timed_out", "oom_killed", "cancelled", "error"]
JobStatus: TypeAlias = Literal["queued", "running"] | TerminalStatus
IsolationClass: TypeAlias = Literal[
    "none", "linux-shared-kernel", "gvisor-application-kernel", "hardware-vm", "confidential-vm", "wasm-capability"
]

OUTPUT_ENCODING: Final = "utf8-event-lines-joined-by-lf-no-trailing-lf"
WAIT_SECONDS_MAX: Final = 300
REPLAY_LIMIT_MAX: Final = 1000
LIST_LIMIT_MAX: Final = 200


class InputFile(TypedDict):
    """A file for the program. `path` is under `input/`."""

    path: str
    content_base64: str


class UploadedFile(TypedDict):
    """An uploaded file for the program. `blob` is `sha256:` and the file's digest."""

    path: str
    blob: str


class OutputName(TypedDict):
    """A file that a job brought back. `path` is under `output/`."""

    job_id: str
    path: str


OutputFile = TypedDict("OutputFile", {"path": str, "from": OutputName, "blob": NotRequired[str]})
"""An output of a job that has ended, as a file for the program. If `blob` is given, it must be the file's digest."""

OutputContent = TypedDict("OutputContent", {"from": OutputName})
"""Stands for an output of another job: `{"from": {"job_id": …, "path": "output/…"}}`."""


class Envelope(TypedDict):
    """A DSSE envelope. Its payload is base64."""

    payload: str
    payloadType: str
    signatures: list[dict[str, str]]


class PendingStatement(TypedDict):
    """A statement in the log about a job that waited longer than promised."""

    stated_at: str
    answer_by: str
    envelope: Envelope
    log_proof: str | None


class PendingStatements(TypedDict):
    """Oldest first."""

    items: list[PendingStatement]


class StoredBlob(TypedDict):
    """An uploaded file. Submissions may name it until `expires_at`. Each submission that names it extends this time."""

    blob: str
    size_bytes: int
    expires_at: str


FileContent: TypeAlias = bytes | str | StoredBlob | OutputContent
"""The content of an input file: its bytes or text, an upload, or an output of another job. Text is sent as UTF-8."""


class LimitsInput(TypedDict, total=False):
    """Requested limits. A limit that is left out has a default, and a limit above its ceiling is lowered to the ceiling."""

    wall_seconds: float
    cpu_seconds: float
    mem_mb: float
    max_pids: float
    max_file_mb: float
    allow_network: bool


class Requirements(TypedDict, total=False):
    minimum_isolation: IsolationClass
    enforced: list[str]  # Names of limits that the host must enforce.


class LargeOutputs(TypedDict, total=False):
    """Outputs that come back by digest: files, and a path for all of standard output."""

    paths: list[str]
    stdout: str | None
    max_bytes: int


class Build(TypedDict, total=False):
    """Compiles the program without running it. The product comes back as the large output `output/product`."""

    options: list[str]


class Product(TypedDict):
    """Starts the product that a build made from the same code."""

    job_id: str


class Interactor(TypedDict):
    """A second program. The standard output of each program is the standard input of the other."""

    language: str
    code: str
    files: NotRequired[list[InputFile | UploadedFile | OutputFile]]
    args: NotRequired[list[str]]
    env: NotRequired[dict[str, str]]
    outputs: NotRequired[list[str]]
    large_outputs: NotRequired[LargeOutputs]
    product: NotRequired[Product]
    runtime: NotRequired[str | None]
    requirements: NotRequired[Requirements]
    limits: NotRequired[LimitsInput]
    reproducible: NotRequired[bool]


class ToolDescription(TypedDict):
    """A tool that a program may call. Its schemas are JSON Schema of draft 2020-12, limited to some keywords."""

    name: str
    description: NotRequired[str]
    arguments: NotRequired[dict[str, Any]]
    result: NotRequired[dict[str, Any]]


class ToolLimitsInput(TypedDict, total=False):
    """Bounds on a program's tool calls. The service clamps them."""

    calls: float
    call_bytes: float
    total_bytes: float


class OpenToolCall(TypedDict):
    """A call that nobody has answered yet. `seq` is the number of its event; answers name the call by this number."""

    seq: int
    timestamp: str
    tool: str
    arguments: Any


class ToolCalls(TypedDict):
    """Calls that are open. `next_cursor` is None once the job has ended."""

    calls: list[OpenToolCall]
    next_cursor: int | None


class ToolAnswerTaken(TypedDict):
    """`seq` is the number of the answer's event. `replayed` says whether the same answer had been accepted before."""

    call_seq: int
    seq: int
    replayed: bool


class SessionStep(TypedDict):
    """Makes a job a step of a session. `after` is the last step, or None for the first step."""

    name: str
    after: str | None


class Session(TypedDict):
    """A session's present state. The next step begins with the state that the job `last_job_id` left."""

    name: str
    language: str
    last_job_id: str | None
    running_job_id: str | None
    created_at: str
    changed_at: str


class Libraries(TypedDict):
    """A job's own libraries: an uploaded archive."""

    blob: str


class JobSubmission(Interactor):
    """The body of `POST /v1/jobs`."""

    stdin: NotRequired[str | None]
    build: NotRequired[Build]
    interactor: NotRequired[Interactor]
    tools: NotRequired[list[ToolDescription]]
    tool_limits: NotRequired[ToolLimitsInput]
    tool_principals: NotRequired[list[str]]
    promise: NotRequired[bool]
    session: NotRequired[SessionStep]
    libraries: NotRequired[Libraries]
    labels: NotRequired[list[str]]
    sign_labels: NotRequired[bool]


class Interaction(TypedDict):
    """The other job of a pair whose programs talk to each other, and this job's role in the pair."""

    peer: str
    role: Literal["program", "interactor"]


class FloatTolerance(TypedDict, total=False):
    absolute: float
    relative: float


class Floats(TypedDict):
    """Numbers may differ by either tolerance, and everything else is compared as words."""

    floats: FloatTolerance


Comparing: TypeAlias = Literal["lines", "words", "exact"] | Floats
"""How an output is compared with the expected output."""


class GradingGroup(TypedDict):
    """Tests whose points count together: as their sum, or by the smallest fraction that one of them won."""

    name: str
    score: NotRequired[Literal["sum", "minimum"]]
    points: NotRequired[float]
    after: NotRequired[list[str]]
    stop: NotRequired[bool]


class Violation(TypedDict):
    """A limit that a program broke, or a refused action of a program."""

    type: str
    message: str
    path: NotRequired[str]
    limit: NotRequired[float]
    observed: NotRequired[float]
    phase: NotRequired[Literal["compile"]]


class ArtifactRecord(TypedDict):
    path: str
    size_bytes: int
    sha256: str


class OutputRecord(TypedDict):
    """One line of output without its newline. `partial` is present if no newline followed."""

    text: str
    partial: NotRequired[Literal[True]]


class _EventMembers(TypedDict):
    job_id: str
    seq: int
    timestamp: str
    hash_version: int
    prev_hash: str | None
    event_hash: str | None


class QueuedEvent(_EventMembers):
    kind: Literal["queued"]
    data: dict[str, Any]


class StartedEvent(_EventMembers):
    kind: Literal["started"]
    data: dict[str, Any]


class CancelRequestedEvent(_EventMembers):
    kind: Literal["cancel_requested"]
    data: dict[str, Any]


class StdoutEvent(_EventMembers):
    kind: Literal["stdout"]
    data: OutputRecord


class StderrEvent(_EventMembers):
    kind: Literal["stderr"]
    data: OutputRecord


class ArtifactEvent(_EventMembers):
    kind: Literal["artifact"]
    data: ArtifactRecord


class LargeOutputEvent(_EventMembers):
    kind: Literal["large_output"]
    data: ArtifactRecord


class ViolationEvent(_EventMembers):
    kind: Literal["violation"]
    data: Violation


class TruncatedEvent(_EventMembers):
    kind: Literal["truncated"]
    data: dict[str, Any]


class ToolCallEvent(_EventMembers):
    kind: Literal["tool_call"]
    data: dict[str, Any]


class ToolResultEvent(_EventMembers):
    kind: Literal["tool_result"]
    data: dict[str, Any]


class Finished(TypedDict):
    status: TerminalStatus
    exit_code: int | None
    signal: str | None
    terminal_reason: str
    duration_ms: int | None


class FinishedEvent(_EventMembers):
    kind: Literal["finished"]
    data: Finished


Event: TypeAlias = (
    QueuedEvent
    | StartedEvent
    | CancelRequestedEvent
    | StdoutEvent
    | StderrEvent
    | ArtifactEvent
    | LargeOutputEvent
    | ViolationEvent
    | TruncatedEvent
    | ToolCallEvent
    | ToolResultEvent
    | FinishedEvent
)
"""One event of a job's history. `kind` says which. An event of a kind that is not listed here also arrives unchanged."""


class ReplayPage(TypedDict):
    events: list[Event]
    next_cursor: int | None


class EndingPage(ReplayPage):
    """A page of events. If requested, the last page also has the job's result and receipt."""

    result: NotRequired[dict[str, Any]]
    receipt: NotRequired[dict[str, Any]]


class AttestationMember(TypedDict):
    """Whether the signed evidence of a job can be fetched. Until then, all members but `available` are None."""

    available: bool
    tenant: str | None
    key_id: str | None
    receipt_sha256: str | None
    result_media_type: str | None
    result_sha256: str | None
    result_size_bytes: int | None
    envelope_sha256: str | None
    envelope_size_bytes: int | None
    envelope_url: str | None
    result_artifact_url: str | None


class EffectiveSpec(TypedDict):
    isolation_class: IsolationClass | None
    limits: dict[str, float | None]


class JobDetail(TypedDict):
    """A job in full. A member about the execution is None if nothing observed it."""

    job_id: str
    tenant: str
    status: JobStatus
    language: str
    runtime: str | None
    created_at: str
    started_at: str | None
    finished_at: str | None
    duration_ms: int | None
    exit_code: int | None
    terminal_reason: str | None
    signal: str | None
    cancellation_requested: bool
    requested_spec: dict[str, Any]
    effective_spec: EffectiveSpec | None
    backend: str | None
    bootstrap_ready: bool | None
    networking: str | None
    network_allowed: bool | None
    private_rootfs: bool | None
    dedicated_bootstrap: bool | None
    seccomp: str | None
    limit_enforcement: dict[str, bool] | None
    large_outputs: NotRequired[list[ArtifactRecord]]
    attestation: AttestationMember
    receipt: NotRequired[dict[str, Any]]
    receipt_sha256: NotRequired[str]


class CancellationAnswer(JobDetail):
    already_terminal: bool


class JobListItem(TypedDict):
    job_id: str
    status: JobStatus
    language: str
    runtime: str | None
    created_at: str
    started_at: str | None
    finished_at: str | None
    duration_ms: int | None
    exit_code: int | None
    terminal_reason: str | None
    truncated: bool
    attestation_available: bool
    labels: NotRequired[list[str]]
    first_line: NotRequired[str]


class Capabilities(TypedDict):
    """What a service can run. `features` names what the service can do beyond the first version."""

    version: str
    languages: list[str]
    isolation_class: IsolationClass | None
    enforced: NotRequired[list[str]]
    limits: dict[str, dict[str, float]]
    tools: NotRequired[dict[str, Any]]
    artifacts: dict[str, int]
    blobs: dict[str, int]
    libraries: NotRequired[dict[str, int]]
    concurrent_mem_mb_max: int
    per_tenant: dict[str, float]
    runtime_packs: list[dict[str, Any]]
    features: list[str]
    signer: dict[str, str] | None


LinkPart: TypeAlias = Literal["code", "input", "files"]


class Link(TypedDict):
    """A link to a job, without its secret."""

    link_id: str
    job_id: str
    principal: str
    shows: list[LinkPart]
    created_at: str
    expires_at: str


class NewLink(Link):
    link_url: str


class CreatedLink(NewLink):
    """A new link. `address` leads to a page that shows the result. The secret is in the address after the `#`."""

    address: str


class PublicKey(TypedDict):
    """The service's present signing key. It is not a trust anchor: pin a key that you got in another way.
    """

    public_key_pem: str
    key_id: str
    algorithm: str
    trust_notice: str


class Whoami(TypedDict):
    tenant: str
    principal: str
    auth_method: str
    credential_id: str
    scopes: list[str]
    expires_at: str | None
