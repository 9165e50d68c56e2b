"""Both sides of a comparison, once for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from server.pg_catalog.compare import Side, ours, real
from server.pg_catalog.public import TABLES, catalogue
from server.pg_catalog.real import postgres


@pytest.fixture(scope="session")
def own() -> Side:
    return ours(catalogue())


@pytest.fixture(scope="session")
def other() -> Iterator[Side]:
    with postgres(TABLES) as link:
        yield real(link)


@pytest.fixture(scope="session")
def other_functions(other: Side) -> set[str]:
    return {str(name) for (name,) in other.ask("SELECT proname::text FROM pg_proc", ())[1]}
