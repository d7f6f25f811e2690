"""What the tests share: the service, a proxy in front of it, and a new tenant for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fault_proxy import FaultProxy
from service import TENANTS, Service

_tenants = iter(TENANTS)


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    running = Service()
    yield running
    running.stop()


@pytest.fixture
def proxy(service: Service) -> Iterator[FaultProxy]:
    made = FaultProxy(service.url)
    yield made
    made.close()


@pytest.fixture
def api_key() -> str:
    """A key for a tenant that no other test uses."""
    return f"key-of-{next(_tenants)}"
