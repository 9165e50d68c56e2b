"""What would be charged now is what is charged then: nothing for what was bought, all of it for what was not."""

from __future__ import annotations

from pathlib import Path

import clinic
import pytest

from discreet.curator import Curator, Due
from discreet.curator.custody import Custody, Declared
from discreet.curator.quote import TermsGiven
from discreet.errors import Refusal

TWO = "SELECT (SELECT count(*) FROM visits) AS n, (SELECT count(*) FROM visits WHERE urgent) AS u"
STAGED = "SELECT count(*) AS n FROM visits WHERE cost > (SELECT avg(cost) FROM visits)"


@pytest.mark.parametrize(
    "sql", [clinic.COUNT, TWO, "SELECT region, avg(cost) AS a FROM visits GROUP BY region", STAGED]
)
def test_what_is_due_is_what_is_paid(tmp_path: Path, sql: str) -> None:
    curator = Curator(clinic.home(tmp_path / "home"))
    due = curator.due(sql, epsilon="0.5")
    assert due.population == "patient"
    assert curator.history() == []  # it is free to know
    assert due.loss == curator.explain(sql, epsilon="0.5").price == curator.query(sql, epsilon="0.5").cost


def test_what_was_bought_is_not_due_again_unless_it_is_wanted_better_or_anew(tmp_path: Path) -> None:
    curator = Curator(clinic.home(tmp_path / "home"))
    curator.query(clinic.COUNT, epsilon="0.5")
    for price, free in (("0.5", True), ("0.1", True), ("0.6", False)):
        terms = TermsGiven(epsilon=price)
        assert (curator.due(clinic.COUNT, **terms).loss is None) is free
        assert (curator.due(clinic.COUNT, epsilon=price, fresh=True).loss is None) is False
        assert (curator.query(clinic.COUNT, **terms).cost is None) is free


def test_of_two_parts_only_the_new_one_is_due(tmp_path: Path) -> None:
    curator = Curator(clinic.home(tmp_path / "home"))
    curator.query("SELECT (SELECT count(*) FROM visits) AS n", epsilon="0.9")
    due = curator.due(TWO, epsilon="0.5").loss
    whole = curator.explain(TWO, epsilon="0.5").price
    assert due is not None
    assert whole is not None
    assert due != whole
    assert curator.query(TWO, epsilon="0.5").cost == due


def test_public_tables_cost_nobody_anything(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home")
    Custody(home).add("wards", clinic.visits(3), Declared(public=True))
    assert Curator(home).due("SELECT count(*) AS n FROM wards") == Due(None, None)


def test_what_would_be_refused_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="rows of people"):
        Curator(clinic.home(tmp_path / "home")).due("SELECT * FROM visits")
