"""Practice is of the same form as the real thing, costs nothing, and knows nothing of anybody's rows."""

from __future__ import annotations

import gc
import multiprocessing
import shutil
import sys
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import clinic
import pyarrow as pa
import pytest

from discreet.curator import Curator
from discreet.curator.custody import Custody, Declared
from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Table
from discreet.desk import HOME, Desk
from discreet.desk.practice_home import ROWS, UNITS, made_up
from discreet.errors import OverBudget, Refusal
from discreet.privacy import Approximate

SQL = "SELECT region, count(*) AS n, avg(cost) AS cost FROM visits GROUP BY region"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", clinic.visits(10))


def test_it_has_the_form_of_the_real_answer_and_is_free(home: Path) -> None:
    desk = Desk(home)
    tried = desk.tried(HOME, SQL, {"epsilon": 1})
    assert Curator(home).budget("patient").spent == Approximate(0)
    real = desk.asked(HOME, SQL, {"epsilon": 1})
    assert (tried.columns, tried.types) == (real.columns, real.types)
    assert [row[0] for row in tried.rows] == [row[0] for row in real.rows]
    assert tried.rows != desk.tried(HOME, SQL, {"epsilon": 1}).rows  # noise is drawn each time


def test_another_home_with_the_same_declarations_practises_on_the_same_rows(home: Path, tmp_path: Path) -> None:
    other = clinic.home(tmp_path / "other", clinic.visits(90))
    tables = [made_up(Curator(each).declared().schema.table("visits")) for each in (home, other)]
    assert tables[0].equals(tables[1])
    assert tables[0].num_rows == ROWS
    assert len(tables[0]["patient"].unique()) == UNITS


def test_its_budget_never_ends(home: Path) -> None:
    desk = Desk(home)
    for _ in range(3):
        desk.tried(HOME, clinic.COUNT, {"epsilon": 600})  # of 1000
    assert Curator(home).budget("patient").spent == Approximate(0)


def test_new_declarations_are_practised_on(home: Path) -> None:
    desk = Desk(home)
    desk.tried(HOME, clinic.COUNT, {})
    Custody(home).add("more", clinic.visits(3), clinic.declared())
    assert desk.tried(HOME, "SELECT count(*) FROM more", {"epsilon": 1}).columns


def test_public_rows_are_the_real_ones_and_links_lead_somewhere(home: Path) -> None:
    Custody(home).add("names", pa.table({"region": ["north"], "label": ["up"]}), Declared(public=True))
    linked = pa.table({"visitor": [1, 2], "grams": [1.0, 2.0]})
    Custody(home).add(
        "meals", linked, Declared(link={"visitor": "visits.patient"}, max_rows=9, bounds={"grams": (0, 9)})
    )
    desk = Desk(home)
    sql = "SELECT label, count(*) FROM visits JOIN names USING (region) GROUP BY label"
    assert desk.tried(HOME, sql, {"epsilon": 9, "delta": "1e-6"}).rows[0][0] == "up"
    ((total,),) = desk.tried(HOME, "SELECT sum(grams) FROM meals", {"epsilon": 9}).rows
    assert isinstance(total, float)
    assert total > 0


def test_what_is_refused_is_refused_in_practice_too(home: Path) -> None:
    Custody(home).add("more", clinic.visits(3), clinic.declared())
    token = Custody(home).let_in("ana", "analyst", tables=["visits"])
    desk = Desk(home)
    ana = desk.bearer(token)
    assert ana is not None
    for sql, why in (("SELECT patient FROM visits", "."), ("SELECT count(*) FROM more", "there is no table")):
        with pytest.raises(Refusal, match=why):
            desk.tried(ana, sql, {"epsilon": 1})


def test_what_others_tried_is_not_told(home: Path) -> None:
    desk = Desk(home)
    first = desk.tried(HOME, clinic.COUNT, {"epsilon": 1})
    desk.tried(HOME, clinic.COUNT, {"epsilon": 3})
    again = desk.tried(HOME, clinic.COUNT, {"epsilon": 1})
    assert (first.left, first.entry) == (again.left, again.entry) == (None, "")


def test_a_price_that_no_budget_has_is_refused_and_founds_no_other_home(home: Path) -> None:
    desk = Desk(home)
    with pytest.raises(OverBudget):
        desk.tried(HOME, clinic.COUNT, {"epsilon": 5000})
    before = desk._practice._home
    with pytest.raises(OverBudget):
        desk.tried(HOME, clinic.COUNT, {"epsilon": 5000})
    assert desk._practice._home is before
    assert desk.tried(HOME, clinic.COUNT, {"epsilon": 5000, "within": True}).rows


def test_a_practice_home_that_was_cleared_away_is_made_again(home: Path) -> None:
    desk = Desk(home)
    desk.tried(HOME, clinic.COUNT, {})
    found = desk._practice._home
    assert found is not None
    child = multiprocessing.get_context("fork").Process(target=sys.exit)
    child.start()
    child.join()
    assert found.folder.exists()
    shutil.rmtree(found.folder)
    assert desk.tried(HOME, clinic.COUNT, {}).rows


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([0.5], Declared(bounds={"x": (0, "1e400")})),
        ([0.5], Declared(bounds={"x": ("-1e308", "1e308")})),
        ([1], Declared(bounds={"x": (-(10**30), 5)})),
        ([1], Declared(bounds={"x": (2**63, 2**64)})),
        (["1"], Declared(keys={"x": ["1", "2"]})),
        ([True], Declared(keys={"x": ["true", "false"]})),
    ],
)
def test_whatever_may_be_declared_may_be_practised_on(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: list[object], said: Declared
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # others practise at the same time
    rows = pa.table({"x": cells, "who": [1]})
    Custody(home).add("odd", rows, replace(said, unit="who", population="odd", epsilon=9, max_rows=1))
    desk = Desk(home)
    assert desk.tried(HOME, "SELECT count(*) FROM odd", {"epsilon": 1}).rows
    assert len(list(tmp_path.glob("discreet-practice-*"))) == 1
    assert desk.asked(HOME, "SELECT count(*) FROM odd", {"epsilon": 1}).rows
    del desk
    gc.collect()
    assert list(tmp_path.glob("discreet-practice-*")) == []


def test_rows_lie_within_what_is_declared() -> None:
    columns = (
        Column("who", Type.VARCHAR),
        Column("kind", Type.VARCHAR, keys=("a", "b", None)),
        Column("ill", Type.BOOLEAN),
        Column("size", Type.BIGINT, (Fraction(-3), Fraction(4))),
        Column("huge", Type.BIGINT, (Fraction(0), Fraction(1 << 62))),
        Column("cost", Type.DOUBLE, (Fraction(1, 2), Fraction(7))),
        Column("free", Type.VARCHAR),
        Column("day", Type.DATE),
        Column("time", Type.TIMESTAMP),
    )
    rows = made_up(Table("t", columns, "p", "who", 5)).to_pydict()
    assert set(rows["kind"]) == {"a", "b", None}
    assert set(rows["ill"]) == {False, True}
    assert set(rows["size"]) == set(range(-3, 5))
    assert all(0 <= value <= 1 << 62 for value in rows["huge"])
    assert all(0.5 <= value <= 7 for value in rows["cost"])
    assert len(set(rows["free"])) == 8
    assert len(set(rows["day"])) == 365
    assert len(set(rows["time"])) > 1000
    whole = made_up(replace(Table("t", columns, "p", None), version=2)).to_pydict()
    assert len(set(whole["who"])) == 8  # no unit: a text like any other
