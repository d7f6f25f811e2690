"""Links to results: until a link ends, whoever has it can read a job's result without a credential."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, cast
from .answer_check import check_answer
from .contract import CreatedLink, Link, LinkPart
from .effects import Flow, Request
from .failures import TransportFailure
from .session import Session, call, decode, exchange, job_path, part_of_path, read
from .submission import body_of

_ROUTE: Final = "/v1/jobs/{id}/links"

_LINK_URL: Final = re.compile(r"/links/([A-Za-z0-9_-]+)#[A-Za-z0-9_-]+")
"""The only form that a link may have. With another form, a service could lead a reader who has the secret to another host."""


def create_link(
    session: Session, job_id: str, *, shows: Sequence[LinkPart] = (), expires_in: int | None = None
) -> Flow[CreatedLink]:
    """Makes a link to a job. The service states its `address` only once. Only the principal that submitted the job may do this.

    `shows` names what the link shows beside output and receipt: `code`, `input`, `files`. The link ends after `expires_in`
    seconds, by default after a day. The request is never repeated: a lost answer leaves a link that nobody has.
    """
    wish = {"shows": list(shows)} | ({} if expires_in is None else {"expires_in": expires_in})
    headers = {"accept": "application/json", "content-type": "application/json"}
    made = decode((yield from exchange(Request("POST", job_path(job_id, "/links"), headers, body_of(wish)))))
    check_answer(f"POST {_ROUTE}", made, job_id)
    found = _LINK_URL.fullmatch(made["link_url"])
    if found is None or found[1] != made["link_id"]:
        raise TransportFailure("undecodable", "the answer has no link_url of the link")
    return cast(CreatedLink, {**made, "address": session.base_url + made["link_url"]})


def links(session: Session, job_id: str) -> Flow[Sequence[Link]]:
    """The links to a job that have not ended, the oldest first, without their secrets."""
    return (yield from read(session, job_path(job_id, "/links"), route=f"GET {_ROUTE}"))["items"]


def revoke_link(session: Session, job_id: str, link_id: str) -> Flow[None]:
    """Ends a link now. Whoever may read the job may end its links."""
    path = job_path(job_id, f"/links/{part_of_path(link_id)}")
    ended = decode((yield from call(session, Request("DELETE", path, {"accept": "application/json"}))))
    check_answer(f"DELETE {_ROUTE}/{{link}}", ended)
    if ended["revoked"] is not True or ended["link_id"] != link_id:
        raise TransportFailure("undecodable", "the answer does not say that the link has ended")
