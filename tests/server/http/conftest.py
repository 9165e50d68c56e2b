"""A clinic, three people with tokens, and a server in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import clinic
import pytest
from server.served import Server, served

from discreet.curator.custody import Custody


@dataclass(frozen=True)
class Place:
    """A home and the tokens of those who are let in: an analyst, one with a grant of no table, a custodian."""

    home: Path
    ann: str
    bob: str
    cleo: str


def settled(folder: Path, **changes: object) -> Place:
    home = clinic.home(folder / "home", **{"epsilon": 1000, **changes})
    custody = Custody(home)
    return Place(
        home,
        custody.let_in("ann", "analyst"),
        custody.let_in("bob", "analyst", tables=[]),
        custody.let_in("cleo", "custodian"),
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return settled(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="module")
def server(place: Place) -> Iterator[Server]:
    with served(place.home, "--rate", "1000") as running:
        yield running
