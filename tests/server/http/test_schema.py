"""What OpenAPI says is what happens: requests are made from the schema, replies are held against it."""

from __future__ import annotations

import pytest
from server.http.conftest import Place
from server.served import Server


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_every_operation_behaves_as_its_schema_says(place: Place, server: Server, mode: str) -> None:
    from server.http.operations import hold  # noqa: PLC0415  # what makes up requests takes a second to load

    hold(place, server, mode, 40)
