"""Questions at their edges, as drivers and people write them."""

from __future__ import annotations

from pathlib import Path

import hospital
import pytest

from discreet.curator import Curator
from discreet.errors import Refusal


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hospital.home(tmp_path_factory.mktemp("edges") / "home")


def test_sides_of_a_union_have_as_many_columns(home: Path) -> None:
    with pytest.raises(Refusal, match="UNION puts 2 columns above 1"):
        Curator(home).explain("SELECT count(*), 1 FROM visits UNION ALL SELECT count(*) FROM visits")


def test_a_limit_may_be_cast_as_drivers_do(home: Path) -> None:
    rows = hospital.exactly(Curator(home), "SELECT region, count(*) FROM visits GROUP BY region LIMIT 2::INTEGER")
    assert len(rows) == 2
