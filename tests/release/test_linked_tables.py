"""Made-up children of made-up parents: as many as each has, and of the kind that such a parent has."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from commandline import discreet as command
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.errors import Refusal
from discreet.mechanisms import Column, Frame
from discreet.release import SyntheticRelease, Wish, linked, publication
from discreet.release.linked_tables import _handed_out

SEX, AGE = Column("sex", keys=("f", "m")), Column("age", bounds=(0, 100), step=1)
WARD, COST = Column("ward", keys=("eyes", "teeth", "birth")), Column("cost", bounds=(0, 1000), step=1)
VISITS = Column("visits", bounds=(0, 4), step=1)
BINS = {"visits": 5, "age": 10}


def released(data: dict[str, Any], *columns: Column, **more: Any) -> SyntheticRelease:  # noqa: ANN401
    rows = Frame.of(data, *columns)
    names = tuple(column.name for column in columns)
    wish = Wish.of("synthetic", names, rho=50, bins={name: cut for name, cut in BINS.items() if name in names}, **more)
    made = publication(rows, wish)(rows, rng=Seeded(1))
    assert isinstance(made, SyntheticRelease)
    return made


@pytest.fixture(scope="module")
def parents() -> SyntheticRelease:
    """Women have three visits and men one; who is below fifty has none if it is a man."""
    i = np.arange(4000)
    sex, age = np.where(i % 2, "f", "m"), i // 2 % 100
    visits = np.where(i % 2, 3, np.where(age < 50, 0, 1))
    return released({"sex": sex, "age": age, "visits": visits}, SEX, AGE, VISITS)


@pytest.fixture(scope="module")
def children() -> SyntheticRelease:
    """Women go to birth if they are below fifty, else to eyes; men go to teeth. Costs go with the ward."""
    i = np.arange(7000)
    woman, age = i % 7 < 6, i // 7 % 100
    age = np.where(woman, age, 50 + age % 50)
    ward = np.where(woman, np.where(age < 50, "birth", "eyes"), "teeth")
    data = {"sex": np.where(woman, "f", "m"), "age": age, "ward": ward, "cost": np.where(ward == "birth", 900, 100)}
    return released(data, SEX, AGE, WARD, COST)


def test_each_parent_has_as_many_children_as_it_says_and_of_its_kind(
    parents: SyntheticRelease, children: SyntheticRelease
) -> None:
    made = linked(parents, children, count="visits", key="who", rng=Seeded(3))
    assert made.parents.column_names == ["who", "sex", "age", "visits"]
    assert made.children.column_names == ["who", "ward", "cost"]
    assert made.parents["who"].to_pylist() == list(range(1, made.parents.num_rows + 1))
    counted = Counter(made.children["who"].to_pylist())
    rows = {row["who"]: row for row in made.parents.to_pylist()}
    assert {who: row["visits"] for who, row in rows.items() if row["visits"]} == counted
    drawn = parents.rows()["visits"].to_pylist()
    assert [row["visits"] for row in rows.values()] == [max(many or 0, 0) for many in drawn]
    right, every = 0, 0
    for child in made.children.to_pylist():
        of = rows[child["who"]]
        if None in (of["sex"], of["age"], child["ward"], child["cost"]):
            continue
        expected = "teeth" if of["sex"] == "m" else "birth" if of["age"] < 50 else "eyes"
        right += child["ward"] == expected and (child["cost"] > 500) == (expected == "birth")
        every += 1
    assert every > 6000
    assert right > 0.97 * every


def test_a_kind_of_parent_that_has_no_children_gets_some_of_fewer_columns(children: SyntheticRelease) -> None:
    """Boys have no visits in the second model: what they get is a man's, or anybody's."""
    data = {"sex": ["m"] * 500, "age": [5] * 500, "visits": [2] * 500}
    boys = released(data, SEX, AGE, VISITS, rows=300)
    made = linked(boys, children, count="visits", rng=Seeded(3))
    assert made.children.num_rows == sum(made.parents["visits"].to_pylist()) > 500
    assert made.children["ward"].null_count < 100


@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 3), max_size=12))
def test_drawn_rows_are_handed_out_once_to_whom_they_fit(wanted: list[int], pool: list[int]) -> None:
    given = np.stack([np.array(pool, dtype=np.int64), 100 + np.arange(len(pool))], axis=1)
    every = np.full((len(wanted), 2), -1, dtype=np.int64)
    cells = np.array(wanted, dtype=np.int64).reshape(-1, 1)
    left, rest = _handed_out(every, np.arange(len(wanted)), given, cells, [0])
    got = [place for place in range(len(wanted)) if every[place, 1] >= 0]
    assert sorted([*got, *left.tolist()]) == list(range(len(wanted)))
    assert [every[place, 0] for place in got] == [wanted[place] for place in got]
    assert sorted([*every[got, 1].tolist(), *rest[:, 1].tolist()]) == [100 + i for i in range(len(pool))]
    assert not {wanted[place] for place in left} & set(rest[:, 0].tolist())


def test_nobody_has_children_and_that_is_a_table_too(children: SyntheticRelease) -> None:
    none = released({"sex": ["m"] * 500, "age": [5] * 500, "visits": [0] * 500}, SEX, AGE, VISITS, rows=20)
    none = replace(none, content=replace(none.content, rows=np.zeros_like(none.content.rows)))
    made = linked(none, children, count="visits", rng=Seeded(3))
    assert made.parents.num_rows == 20
    assert (made.children.num_rows, made.children.column_names) == (0, ["parent", "ward", "cost"])


def test_what_does_not_fit_is_refused(parents: SyntheticRelease, children: SyntheticRelease) -> None:
    with pytest.raises(Refusal, match="how many children a parent has"):
        linked(parents, children, count="sex")
    with pytest.raises(Refusal, match="how many children a parent has"):
        linked(parents, parents, count="visits")
    with pytest.raises(Refusal, match="there is a column 'ward' already"):
        linked(parents, children, count="visits", key="ward")
    alone = released({"ward": ["eyes"] * 9}, WARD)
    with pytest.raises(Refusal, match="some columns must be in both"):
        linked(parents, alone, count="visits")
    other = released({"sex": ["f"] * 9, "ward": ["eyes"] * 9}, Column("sex", keys=("f", "m", "d")), WARD)
    with pytest.raises(Refusal, match="'sex' has other keys or bins"):
        linked(parents, other, count="visits")
    many = replace(parents, content=replace(parents.content, rows=np.repeat(parents.content.rows, 300, axis=0)))
    many = replace(many, steps=tuple(np.zeros(len(many.content.rows), dtype=np.int64) for _ in many.axes))
    with pytest.raises(Refusal, match="at most 1,048,576 are drawn"):
        linked(many, children, count="visits")


def test_two_folders_are_linked_on_the_command_line(tmp_path: Path) -> None:
    who = np.arange(400)
    db = dp.create(tmp_path / "home")
    table = {"who": who, "sex": np.where(who % 2, "f", "m")}
    db.add("people", table, unit="who", epsilon=50, delta="1e-3", max_rows=1, keys={"sex": ["f", "m"]})
    visits = {"who": np.repeat(who, 2), "ward": np.where(np.repeat(who, 2) % 2, "birth", "teeth")}
    db.add("visits", visits, unit="who", max_rows=3, keys={"ward": ["birth", "teeth"]})
    counts = "(SELECT who, count(*) AS n FROM visits GROUP BY who)"
    one = f"SELECT p.sex AS sex, least(c.n, 3) AS n FROM people p LEFT JOIN {counts} c ON p.who = c.who"
    two = "SELECT p.sex AS sex, v.ward AS ward FROM people p JOIN visits v ON p.who = v.who"
    price: dict[str, Any] = {"kind": "synthetic", "epsilon": 10, "delta": "1e-6"}
    first = db.publish(one, columns=["sex", "n"], bins={"n": 3}, **price)
    second = db.publish(two, columns=["sex", "ward"], **price)
    assert db.release(first.entry).facts["caps"] == {"max_rows": 1}
    assert db.release(second.entry).facts["caps"] == {"max_rows": 3}
    db.certified(first.entry, tmp_path / "one")
    db.certified(second.entry, tmp_path / "two")
    asked = [str(tmp_path / name) for name in ("one", "two")]
    told = command(tmp_path, "release", "link", *asked, "--count", "n", "--key", "who", "--out", str(tmp_path / "both"))
    assert told.returncode == 0
    parents, children = (pq.read_table(tmp_path / "both" / f"{name}.parquet") for name in ("parents", "children"))
    assert f"{children.num_rows:,} children" in told.stdout
    assert set(children["who"].to_pylist()) <= set(parents["who"].to_pylist())
    assert len((tmp_path / "both" / "children.csv").read_text().splitlines()) == children.num_rows + 1
    again = command(tmp_path, "release", "link", *asked, "--count", "n", "--out", str(tmp_path / "both"))
    assert again.returncode == 2
    assert "is there already" in again.stderr
