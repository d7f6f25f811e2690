"""Many runs at once: each one comes back, although the service has room for only a few at a time."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from fault_proxy import FaultProxy
from service import Service

from vouchbox import AsyncClient, Client, Retry, ServiceFailure
from vouchbox.turns import Turns


def test_a_burst_of_an_async_client_comes_back_whole(service: Service, api_key: str) -> None:
    async def burst() -> list[str]:
        async with AsyncClient(service.url, api_key) as client:
            ran = await asyncio.gather(*(client.run(f"echo {n}", language="bash") for n in range(60)))
            assert (client.runs.open, client.runs.waiting) == (0, 0)
            return [result.stdout for result in ran]

    assert asyncio.run(burst()) == [f"{n}\n" for n in range(60)]


def test_threads_that_share_a_client_wait_their_turn(service: Service, api_key: str) -> None:
    with Client(service.url, api_key) as client, ThreadPoolExecutor(40) as threads:

        def said(n: int) -> str:
            return client.run(f"echo {n}", language="bash").stdout

        assert list(threads.map(said, range(40))) == [f"{n}\n" for n in range(40)]


def test_a_run_that_is_cancelled_while_it_waits_asks_nothing_of_the_service(proxy: FaultProxy, api_key: str) -> None:
    async def cancelled() -> None:
        async with AsyncClient(proxy.url, api_key) as client:
            await client.run("true", language="bash")
            before = len(proxy.seen)
            taken = 0
            while client.runs.take_or_wait(24, lambda: None):
                taken += 1
            waits = asyncio.create_task(client.run("true", language="bash"))
            while client.runs.waiting < 2:
                await asyncio.sleep(0)
            waits.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waits
            assert (client.runs.open, client.runs.waiting) == (taken, 1)
            assert len(proxy.seen) == before

    asyncio.run(cancelled())


def test_a_run_that_fails_once_its_job_was_accepted_names_the_job(proxy: FaultProxy, api_key: str) -> None:
    proxy.add({"on": "GET /v1/capabilities", "without_features": ["submission_include"]})
    proxy.add({"on": "GET /v1/jobs/{id}", "answer": {"status": 500, "code": "internal"}})
    with Client(proxy.url, api_key, retry=Retry(attempts_max=1)) as client:
        with pytest.raises(ServiceFailure) as failure:
            client.run("true", language="bash")
        [job] = client.jobs()
        assert failure.value.job_id == job["job_id"]


def test_turns_are_passed_on_in_order_and_one_that_was_given_up_goes_to_the_next() -> None:
    turns = Turns()
    begun: list[int] = []
    assert turns.take_or_wait(1, lambda: None)
    rows = [lambda n=n: begun.append(n) for n in range(3)]
    assert not any(turns.take_or_wait(1, begin) for begin in rows)
    turns.give_up(rows[1])
    turns.pass_on()
    assert begun == [0]
    turns.give_up(rows[0])  # It already had the turn.
    assert begun == [0, 2]
    turns.pass_on()
    assert (turns.open, turns.waiting) == (0, 0)
