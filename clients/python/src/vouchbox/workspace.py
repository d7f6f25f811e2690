"""Files that stay between runs, kept by the caller.

A step is a job that gets the files as input, works in a directory that holds them, and gives back what is there at the end. The
service keeps no state: each step gets what the previous step left. Every step checks this with the receipts: the digest of its
input must equal the digest of the previous output.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from .canonical_json import canonical_json, sha256_hex
from .contract import IsolationClass, LimitsInput
from .effects import Flow
from .failures import EvidenceFailure
from .jobs import detail
from .outcome import RunResult
from .record import verify
from .run import OnText, run
from .session import Session
from .submission import EVERY_OUTPUT


@dataclass(frozen=True, slots=True)
class Step:
    """One run in a workspace."""

    job_id: str
    receipt_sha256: str
    input_digest: str
    """The receipt's digest of the files that the program was given."""
    output_digest: str
    """The receipt's digest of the files that the program left."""
    was_kept: bool
    """Whether the workspace kept what the program left. False if a limit or a request ended the program, or if the program
    left more or larger files than can come back."""
    edited: bool
    """Whether the caller changed files after the last kept step and before this step."""


def files_digest(files: Iterable[Mapping[str, Any]]) -> str:
    """The digest of a set of files: SHA-256 of the canonical JSON of each file's `path`, `sha256` and `size_bytes`, ordered by
    path."""
    rows = [{name: file[name] for name in ("path", "sha256", "size_bytes")} for file in files]
    return sha256_hex(canonical_json(sorted(rows, key=lambda row: str(row["path"]))))


def _below(directory: str, records: object) -> list[dict[str, Any]]:
    """The files in a receipt's list, with their paths below `input/` or `output/`."""
    if not isinstance(records, list):
        raise EvidenceFailure("workspace", "the receipt does not list the files")
    listed = cast("list[dict[str, Any]]", records)
    return [{**file, "path": str(file["path"]).removeprefix(f"{directory}/")} for file in listed]


def checked_path(path: str) -> str:
    """A path in the workspace: relative and normalized, so that each file has only one path."""
    if not path or path.startswith("/") or "\\" in path or path != posixpath.normpath(path) or path.split("/")[0] == "..":
        raise ValueError(f"{path!r} is not a path in the workspace")
    return path


@dataclass(slots=True)
class WorkspaceState:
    """The files as they are now, and the steps so far."""

    session: Session
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    steps: list[Step] = field(default_factory=list[Step])

    def digest(self) -> str:
        """The digest of the files as they are now."""
        return files_digest(
            {"path": path, "sha256": sha256_hex(content), "size_bytes": len(content)}
            for path, content in self.files.items()
        )

    def kept_digest(self) -> str:
        """The digest of the files that the last kept step left. Before the first step, the digest of no files."""
        return next((step.output_digest for step in reversed(self.steps) if step.was_kept), files_digest(()))


def run_step(
    workspace: WorkspaceState,
    program: str,
    *,
    language: str = "python",
    stdin: str | None = None,
    args: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    runtime: str | None = None,
    minimum_isolation: IsolationClass | None = None,
    limits: LimitsInput | None = None,
    reproducible: bool | None = None,
    labels: Sequence[str] | None = None,
    sign_labels: bool | None = None,
    on_stdout: OnText | None = None,
    on_stderr: OnText | None = None,
) -> Flow[RunResult]:
    """Runs a program in the workspace: its working directory holds the files, and what it leaves there is kept.

    `language` is `python`, `node`, `typescript` or `bash`. The files are bounded as a job's are: 32 of 2 MiB, 4 MiB in all.
    Variables in memory, empty directories and modes are not kept. Raises `EvidenceFailure` if the receipt says that the program
    was given or left other files than this workspace knows.
    """
    wrapped = in_workspace(program, language)
    sent, sent_digest = dict(workspace.files), workspace.digest()
    ended = yield from run(
        workspace.session,
        wrapped,
        language=language,
        files={f"input/{path}": content for path, content in sent.items()},
        outputs=EVERY_OUTPUT,
        stdin=stdin,
        args=args,
        env=env,
        runtime=runtime,
        minimum_isolation=minimum_isolation,
        limits=limits,
        reproducible=reproducible,
        labels=labels,
        sign_labels=sign_labels,
        on_stdout=on_stdout,
        on_stderr=on_stderr,
    )
    step = _step_of(workspace, ended, sent_digest)
    left = {path.removeprefix("output/"): content for path, content in ended.files.items()}
    workspace.steps.append(step)
    if step.was_kept:
        workspace.files = left
        if workspace.digest() != step.output_digest:
            raise EvidenceFailure("workspace", f"the receipt of {ended.job_id} lists other output files than it gave")
    return ended


def _step_of(workspace: WorkspaceState, ended: RunResult, sent_digest: str) -> Step:
    ran = "input_artifacts" in ended.receipt
    input_digest = files_digest(_below("input", ended.receipt["input_artifacts"])) if ran else sent_digest
    output_digest = files_digest(_below("output", ended.receipt["output_artifacts"])) if ran else files_digest(())
    if input_digest != sent_digest:
        raise EvidenceFailure("workspace", f"the receipt of {ended.job_id} lists other input files than those sent")
    return Step(
        job_id=ended.job_id,
        receipt_sha256=ended.receipt_sha256,
        input_digest=input_digest,
        output_digest=output_digest,
        was_kept=ran and _is_complete(ended),
        edited=sent_digest != workspace.kept_digest(),
    )


def _is_complete(ended: RunResult) -> bool:
    """Whether the program got its files and ended by itself, and everything that it left came back."""
    has_lost = any(violation["type"].startswith("output_") for violation in ended.violations)
    return ended.status in ("succeeded", "failed") and ended.terminal_reason == "exited" and not has_lost


def verify_steps(workspace: WorkspaceState) -> Flow[None]:
    """Recomputes every step's record, and checks that each step got the files that the last kept step left.

    Raises `EvidenceFailure` for the first step that fails. An `edited` step may have got other files.
    """
    kept = files_digest(())
    for step in workspace.steps:
        verified = yield from verify(workspace.session, step.job_id)
        receipt = (yield from detail(workspace.session, step.job_id)).get("receipt", {})
        if verified.receipt_sha256 != step.receipt_sha256:
            raise EvidenceFailure("workspace", f"the receipt of {step.job_id} changed since it ended")
        if "input_artifacts" in receipt and files_digest(_below("input", receipt["input_artifacts"])) != step.input_digest:
            raise EvidenceFailure("workspace", f"{step.job_id} was given other files")
        if not step.edited and step.input_digest != kept:
            raise EvidenceFailure("workspace", f"{step.job_id} did not get the files that the step before it left")
        kept = step.output_digest if step.was_kept else kept


def in_workspace(program: str, language: str) -> str:
    """A program that copies its input to its output, changes to that directory, and then becomes the given program."""
    match language:
        case "python":
            return _PYTHON.format(program=json.dumps(program, ensure_ascii=False))
        case "bash":
            return f"cp -R input/. output/ && cd output || exit 125; {program}"
        case "node" | "typescript":
            return _NODE + program
        case _:
            raise ValueError(f"a workspace runs python, node, typescript and bash, and not {language}")


_PYTHON = """\
import os, shutil, sys
shutil.copytree("input", "output", copy_function=shutil.copyfile, dirs_exist_ok=True)
os.chdir("output")
sys.path.insert(0, os.getcwd())
sys.dont_write_bytecode = True
del os, shutil, sys
exec(compile({program}, "step.py", "exec", dont_inherit=True))
"""

_NODE = (
    "process.getBuiltinModule('node:fs').cpSync('input', 'output', { recursive: true }); process.chdir('output'); "
)
