"""A door that the tests of one file share: questions are paid from one budget, which is large."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from server.pgwire.door import Door, opened
from server.pgwire.raw import Raw


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with opened(tmp_path_factory.mktemp("clinic"), epsilon=10**6) as found:
        yield found


@pytest.fixture
def client(door: Door) -> Iterator[Raw]:
    """Somebody who is let in."""
    with Raw(door.port) as found:
        found.login(door.token)
        yield found
