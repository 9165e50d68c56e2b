"""Synthetic rows from a home: published, checked, asked, registered as a public table; and what may be asked for."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import clinic
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commandline import discreet as command
from doubles import Seeded

import discreet as dp
from discreet.errors import Refusal
from discreet.mechanisms import Column, Frame
from discreet.privacy import Concentrated, Replace
from discreet.release import Release, SyntheticRelease, Wish, publication
from discreet.release.axis import OTHER
from discreet.release.folder import checked, read

SEX, AGE = Column("sex", keys=("f", "m")), Column("age", bounds=(0, 100), step=1)
COST = Column("cost", bounds=(0, 10), step="0.25")
WISH: dict[str, Any] = {"kind": "synthetic", "columns": ["region", "cost"], "rho": "0.5", "bins": {"cost": 10}}


def frame(*columns: Column, many: int = 4000, **more: Any) -> Frame:  # noqa: ANN401
    data: dict[str, Any] = {
        "sex": ["f", "m", "m", "?"] * (many // 4),
        "age": np.arange(many) % 70,
        "cost": np.arange(many) * 0.5 % 9,
    }
    return Frame.of(data, *columns, **more)


def made(*columns: Column, seed: int = 1, **parts: Any) -> SyntheticRelease:  # noqa: ANN401
    rows = frame(*columns)
    wish = Wish.of("synthetic", tuple(column.name for column in columns), **{"rho": 1, **parts})
    told = publication(rows, wish)(rows, rng=Seeded(seed))
    assert isinstance(told, SyntheticRelease)
    return told


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clinic.home(tmp_path_factory.mktemp("synthetic") / "home", epsilon=100, delta="1e-3")


@pytest.fixture(scope="module")
def entry(home: Path) -> int:
    wish = {**WISH, "rho": None, "epsilon": 8, "delta": "1e-6", "method": "clique-tree"}
    return dp.open(home).publish("visits", **wish).entry


def test_it_is_paid_once_checked_asked_and_registered(home: Path, entry: int, tmp_path: Path) -> None:
    db = dp.open(home)
    wish = {**WISH, "rho": None, "epsilon": 8, "delta": "1e-6", "method": "clique-tree"}
    assert db.publish("visits", **wish).entry == entry
    certificate = db.certified(entry, tmp_path / "out")
    assert sorted(certificate.files) == ["index.html", "release.json", "rows.csv", "rows.parquet"]
    assert len(checked(tmp_path / "out")) == 6
    told: Any = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert all(each["cells"] and float(each["error"]) > 0 for each in told["measured"])
    release = read(tmp_path / "out")[0]
    assert isinstance(release, SyntheticRelease)
    rows = pq.read_table(tmp_path / "out" / "rows.parquet")
    assert rows.equals(release.rows())
    db.add("made_up", rows, public=True)
    (n,) = db.query("SELECT count(*) AS n FROM made_up").rows[0]
    assert n == rows.num_rows
    assert "made up" in (tmp_path / "out" / "index.html").read_text()


def test_a_row_that_was_changed_is_seen(home: Path, entry: int, tmp_path: Path) -> None:
    dp.open(home).certified(entry, tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "rows.parquet")
    pq.write_table(rows.slice(1), tmp_path / "out" / "rows.parquet")
    with pytest.raises(dp.Refusal, match=r"'rows.parquet' was changed"):
        checked(tmp_path / "out")


def test_the_command_line_has_it(home: Path, entry: int, tmp_path: Path) -> None:
    assert entry
    asked = ("release", "synthetic", "visits", "--columns", "region,cost", "--epsilon", "1", "--delta", "1e-6")
    told = command(tmp_path, *asked, "--method", "mst", "--dry-run", "--home", str(home))
    assert (told.returncode, "any count: known after paying" in told.stdout) == (0, True)
    refused = command(tmp_path, *asked[:-2], "--dry-run", "--home", str(home))
    assert (refused.returncode, "delta" in refused.stderr) == (2, True), refused.stderr
    practised = command(tmp_path, *asked, "--practice", "--out", "tried", "--home", str(home))
    assert practised.returncode == 0, practised.stderr
    assert (tmp_path / "tried" / "rows.csv").read_text().startswith('"region","cost"\n')


# rows -----------------------------------------------------------------------------------------------------------------


def test_rows_have_declared_values_alone_and_nothing_for_others() -> None:
    told = made(SEX, AGE, COST, bins={"age": "0:100:10", "cost": 4})
    rows = told.rows()
    assert rows.schema.types == [pa.string(), pa.int64(), pa.float64()]
    assert set(rows["sex"].to_pylist()) == {"f", "m", None}
    ages, costs = rows["age"].drop_null().to_numpy(), rows["cost"].drop_null().to_numpy()
    assert (ages.min() >= 0, ages.max() <= 100) == (True, True)
    assert np.all(costs * 4 == np.rint(costs * 4))
    shares = np.bincount(ages // 10, minlength=10)[:7] / rows.num_rows
    assert np.abs(shares - 1 / 7).max() < 0.03
    assert abs(rows["sex"].null_count / rows.num_rows - 0.25) < 0.02
    assert told.range(sex=OTHER).value == pytest.approx(1000, abs=60)


def test_a_value_that_one_person_brings_is_in_no_release() -> None:
    """Neighbours, one of whom has a key and a number that nobody declared: both releases are over the same cells."""
    plain: dict[str, Any] = {"sex": ["f"] * 500, "age": [30] * 500}
    odd: dict[str, Any] = {"sex": [*plain["sex"], "x"], "age": [*plain["age"], 999]}
    told = []
    for data in (plain, odd):
        rows = Frame.of(data, SEX, AGE)
        wish = Wish.of("synthetic", ("sex", "age"), rho=1, bins={"age": 5})
        mechanism = publication(rows, wish)
        told.append((mechanism.preview, mechanism.privacy, mechanism(rows, rng=Seeded(3)).sides))
    assert told[0] == told[1]


def test_it_goes_to_text_and_back_and_draws_more() -> None:
    told = made(SEX, AGE, bins={"age": 7})
    back = Release.from_json(told.to_json())
    assert back == told
    assert isinstance(back, SyntheticRelease)
    assert back.rows().equals(told.rows())
    assert told.draw(7).num_rows == 7
    assert told.draw(7).schema == told.rows().schema
    with pytest.raises(Refusal, match="written by to_json"):
        Release.from_json(told.to_json().replace('"steps": [', '"steps": [3, '))


def test_counts_are_the_models_and_have_a_bar_where_they_were_measured() -> None:
    told = made(SEX, AGE, bins={"age": "0:100:10"}, method="direct")
    assert told.counts(("age", "sex")).shape == (11, 3)
    asked = told.range(sex="f", age=(0, 20))
    assert asked.span is not None
    assert asked.span[0] < 287 < asked.span[1]
    assert told.table(("sex",)).column_names == ["sex", "sex_other", "count", "standard_error"]
    alone = made(SEX, AGE, bins={"age": "0:100:10"}, method="independent")
    assert alone.range(sex="f", age=(0, 20)).barred is False
    with pytest.raises(Refusal, match="not whole"):
        alone.whole()


def test_private_bins_hold_about_as_many_records_each_and_end_on_a_public_grid() -> None:
    random = np.random.default_rng(3)
    wages = np.minimum(np.floor(random.lognormal(6, 1, 6000)), 9999)
    wage = Column("wage", bounds=(0, 10_000), step=1)
    told, other = (
        publication(rows, Wish.of("synthetic", ("wage", "sex"), rho=2, bins={"wage": "private:8"}, method="mst"))(
            rows, rng=Seeded(4)
        )
        for data in (wages, wages[:10])
        for rows in [Frame.of({"wage": data, "sex": ["f"] * len(data)}, wage, SEX)]
    )
    assert isinstance(told, SyntheticRelease)
    assert isinstance(other, SyntheticRelease)
    assert told.sides == other.sides
    assert len(told.sides[0]) == 257
    place = told.content.merging.places[0]
    assert np.all(np.diff(place[:-1]) >= 0)
    edges: Any = told.sides[0]
    held = np.bincount(place[[edges.place(value) for value in wages]], minlength=int(place.max()) + 1)[:-1]
    assert held.size == 8
    assert np.abs(held - 750).max() < 350  # a cell of the grid alone has 300 where there are most
    made = told.rows()["wage"].drop_null().to_numpy()
    assert abs(np.quantile(made, 0.9) / np.quantile(wages, 0.9) - 1) < 0.1


def test_as_many_rows_as_are_asked_for() -> None:
    assert made(SEX, AGE, rows=12).rows().num_rows == 12


# what may be asked for ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"epsilon": 1}, "needs a delta"),
        ({"rho": 1, "delta": "1e-6"}, "delta"),
        ({"rho": 1, "method": "gan"}, "no method 'gan'"),
        ({"rho": 1, "rows": 0}, "rows"),
        ({"rho": 1, "rows": 1 << 21}, "rows"),
        ({"rho": 1, "outside": "leave out"}, "stay, with nothing"),
        ({"rho": 1, "bins": {"k1": "private"}}, "bins are for numbers"),
        ({"rho": 1, "bins": {"age": "private"}, "method": "direct"}, "measures every cell"),
        ({"rho": 1, "method": "direct", "bins": {"age": 100}}, "cells"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_read(parts: dict[str, Any], says: str) -> None:
    columns = (SEX, AGE, *(Column(f"k{i}", keys=tuple("abcdefgh")) for i in range(6)))
    names = tuple(one.name for one in columns)
    with pytest.raises(Refusal, match=says):
        publication(Frame.of({one.name: [] for one in columns}, *columns), Wish.of("synthetic", names, **parts))


def test_the_price_is_within_what_was_asked_for() -> None:
    rows = frame(SEX, AGE)
    asked = publication(rows, Wish.of("synthetic", ("sex", "age"), epsilon=1, delta="1e-9"))
    assert isinstance(asked.privacy, Concentrated)
    assert asked.privacy.delta_at(1) <= Fraction(1, 10**9)
    assert publication(rows, Wish.of("synthetic", ("sex", "age"), rho="0.25")).privacy == Concentrated("0.25")


@pytest.mark.parametrize("method", ["clique-tree", "mst", "independent", "direct"])
def test_what_is_said_beforehand_of_noise_is_the_most_that_a_column_alone_has(method: str) -> None:
    rows = frame(SEX, AGE, neighbours=Replace("row"))
    planned: Any = publication(rows, Wish.of("synthetic", ("sex", "age"), rho="0.5", bins={"age": 9}, method=method))
    content = planned(rows, rng=Seeded(1)).content
    first = next(one for one in content.tables if one.axes in ((0,), (0, 1)))
    alone = math.sqrt(float(first.variances.min()) * (10 if method == "direct" else 1))  # as many cells are added up
    assert planned.mechanism.deviation_alone >= alone - 1e-9
    assert method in ("clique-tree", "mst") or planned.mechanism.deviation_alone == pytest.approx(alone)
    assert planned.alone >= 1.96 * alone
    assert f"within ± {planned.alone:,}" in planned.preview.lines[-1]


def test_replaced_people_are_hidden_as_twice_as_many() -> None:
    rows = frame(SEX, AGE, neighbours=Replace("row"))
    mechanism: Any = publication(rows, Wish.of("synthetic", ("sex", "age"), rho=1))
    assert (mechanism.mechanism.most, mechanism.neighbours) == (2, Replace("row"))


def test_small_tables_are_measured_whole_and_others_by_cliques() -> None:
    rows = frame(SEX, AGE)
    for bins, expected in ((10, "direct-synthesis"), (100, "clique-tree-synthesis")):
        wish = Wish.of("synthetic", ("sex", "age"), rho=1, bins={"age": bins})
        assert publication(rows, wish).preview.method == expected


def test_a_budget_without_a_delta_says_so(tmp_path: Path) -> None:
    db = dp.create(tmp_path / "home")
    own: Any = {"keys": {"sex": ["f", "m"]}}
    db.add("people", {"who": [1, 2, 3], "sex": ["f", "m", "f"]}, unit="who", max_rows=1, epsilon=5, **own)
    with pytest.raises(Refusal, match="kept in epsilon alone"):
        db.publish("people", kind="synthetic", columns=["sex"], epsilon=1, delta="1e-9")
