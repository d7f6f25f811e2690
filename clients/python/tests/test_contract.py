"""This package's description of the contract agrees with the contract itself."""

from __future__ import annotations

import json
from typing import Any, get_args, get_type_hints

import pytest

from service import ROOT
from vouchbox import contract
from vouchbox.failures import FAILURES_BY_CODE, ServiceFailure

DOCUMENT: dict[str, Any] = json.loads((ROOT / "packages/protocol/openapi.json").read_text())
SCHEMAS: dict[str, dict[str, Any]] = DOCUMENT["components"]["schemas"]
BODIES = [
    *["InputFile", "UploadedFile", "OutputFile", "OutputName", "StoredBlob", "LimitsInput", "JobSubmission"],
    *["Interactor", "Interaction", "Session", "SessionStep"],
    *["Violation", "ReplayPage", "EndingPage", "AttestationMember", "EffectiveSpec"],
    *["NewLink", "PendingStatement", "PendingStatements"],
    *["JobDetail", "CancellationAnswer", "JobListItem", "Capabilities", "PublicKey", "Whoami"],
]


@pytest.mark.parametrize("name", BODIES)
def test_a_body_has_the_members_of_the_contract(name: str) -> None:
    schema, body = SCHEMAS[name], getattr(contract, name)
    assert set(body.__required_keys__) == set(schema.get("required", []))
    assert set(get_type_hints(body)) == set(schema["properties"])


def test_a_group_has_the_members_of_the_contract() -> None:
    schema = SCHEMAS["GradingSubmission"]["properties"]["groups"]["items"]
    assert set(contract.GradingGroup.__required_keys__) == set(schema["required"])
    assert set(get_type_hints(contract.GradingGroup)) == set(schema["properties"])


def test_every_event_has_the_members_of_the_contract() -> None:
    for kind in get_args(contract.Event):
        assert set(get_type_hints(kind)) == set(SCHEMAS["JobEvent"]["properties"])


def test_every_code_of_the_contract_has_a_class_and_no_other() -> None:
    assert set(FAILURES_BY_CODE) == set(SCHEMAS["ErrorEnvelope"]["properties"]["error"]["properties"]["code"]["enum"])


@pytest.mark.parametrize(("code", "failure"), FAILURES_BY_CODE.items())
def test_a_failure_means_what_the_contract_says(code: str, failure: type[ServiceFailure]) -> None:
    assert f"`{code}`: {failure.__doc__}" in json.dumps(DOCUMENT, ensure_ascii=False)


def test_the_statuses_are_those_of_the_contract() -> None:
    properties: dict[str, Any] = SCHEMAS["JobDetail"]["properties"]
    statuses = [status for part in get_args(contract.JobStatus) for status in get_args(part)]
    assert statuses == properties["status"]["enum"]
