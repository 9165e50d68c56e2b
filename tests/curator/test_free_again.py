"""Free again means free again: what is declared of a column that a question does not use makes nothing cost anew."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import clinic
import pytest

from discreet.curator import Curator
from discreet.curator.catalogue import FILE
from discreet.desk import HOME, Desk, ReleaseOrder
from discreet.release import Wish

COSTS = "SELECT region, avg(cost) AS c FROM visits GROUP BY region"


def after(line: str, more: str) -> Callable[[str], str]:
    """Declarations with one line more, behind another."""

    def edit(text: str) -> str:
        assert line in text
        return text.replace(line, f"{line}\n{more}", 1)

    return edit


DIAGNOSIS = '[table.visits.columns.diagnosis]\ntype = "varchar"'
REGION = '[table.visits.columns.region]\ntype = "varchar"'
UNUSED = {
    "keys of another column": after(DIAGNOSIS, 'keys = ["d1", "d2"]'),
    "a description of another column": after(DIAGNOSIS, 'description = "what it was"'),
    "a description of its own column": after(REGION, 'description = "where it was"'),
    "keys of the unit": after('[table.visits.columns.patient]\ntype = "bigint"', "keys = [1, 2]"),
}
USED: dict[str, Callable[[str], str]] = {
    "keys of its own column": lambda text: text.replace('keys = ["north", "south", "east"]', 'keys = ["north"]'),
    "bounds of its own column": lambda text: text.replace('bounds = ["0", "1000"]', 'bounds = ["0", "900"]'),
    "a cap": lambda text: re.sub(r"max_rows = \d+", "max_rows = 3", text),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", clinic.visits(30))


def edit(home: Path, how: Callable[[str], str]) -> None:
    before = (home / FILE).read_text()
    assert how(before) != before
    (home / FILE).write_text(how(before))


@pytest.mark.parametrize("what", UNUSED)
def test_what_it_does_not_use_costs_nothing_again(home: Path, what: str) -> None:
    first = Curator(home).query(COSTS, epsilon=1)
    edit(home, UNUSED[what])
    again = Curator(home).query(COSTS, epsilon=1)
    assert again.cost is None
    assert again.rows == first.rows


@pytest.mark.parametrize("what", USED)
def test_what_it_uses_is_another_question(home: Path, what: str) -> None:
    Curator(home).query(COSTS, epsilon=1)
    edit(home, USED[what])
    assert Curator(home).query(COSTS, epsilon=1).cost is not None


def test_a_release_is_bought_once(home: Path) -> None:
    order = ReleaseOrder.of("visits", Wish.of("histogram", ("region",), epsilon="0.5", max_rows=3))
    desk = Desk(home)
    bought = desk.published(HOME, order)
    edit(home, UNUSED["keys of another column"])
    assert Desk(home).offered(HOME, order).entry == bought.entry
    edit(home, USED["keys of its own column"])
    assert Desk(home).offered(HOME, order).entry is None
