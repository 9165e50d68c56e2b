"""An engine's relation counts what a frame in memory counts, and never more of a unit than it may."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import clinic
import duckdb
import pytest
from engines.test_stream_rows import awkward
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.curator import catalogue
from discreet.curator.run import row_outline
from discreet.declared.group_key import Type
from discreet.engines import DuckRelation, DuckStore
from discreet.errors import Refusal
from discreet.mechanisms import Axis, Bins, Caps, Column, Frame
from discreet.release.counting_mechanism import counter
from discreet.sql.cell_numbers import _place
from discreet.sql.relation_facts import shape
from discreet.sql.split_at_noise import rows_of

EVERYTHING = "SELECT region, diagnosis, cost, urgent FROM visits"
COSTS = Bins("cost", (0, 100, 5_000, 33_334, 90_000, 100_000))  # in cents, of no even width
TABLES: list[list[Axis]] = [
    [],
    ["region"],
    ["urgent", "region"],
    [Bins("cost", tuple(range(0, 100_001, 2_500)))],
    [Bins("cost", (0, 100_000))],
    [Bins("cost", (500, 7_000, 90_000))],
    [COSTS],
    ["region", COSTS],
    [Bins("cost", tuple(range(0, 100_001, 1_000))), "urgent", "region"],
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clinic.home(tmp_path_factory.mktemp("relation") / "home", awkward())


def relation(home: Path, sql: str = EVERYTHING, max_rows: int | None = None) -> DuckRelation:
    known = catalogue.read(home)
    rows = rows_of(sql, known.schema)
    public = shape(rows)
    outline = row_outline(public, known.population(public.population or ""), max_rows)
    return DuckRelation(DuckStore(home / "tables"), rows, outline.schema, outline.caps, outline.neighbours)


def framed(found: DuckRelation) -> Frame:
    """The same rows in memory."""
    columns = tuple(found.schema.values())
    cells = list(zip(*found.rows(), strict=True))
    return Frame.of({column.name: list(cells[i]) for i, column in enumerate(columns)}, *columns)


def test_what_is_declared_is_known(home: Path) -> None:
    schema = relation(home).schema
    assert schema["region"] == Column("region", Type.VARCHAR, keys=clinic.REGIONS)
    assert schema["urgent"] == Column("urgent", Type.BOOLEAN, keys=(False, True))
    assert schema["diagnosis"] == Column("diagnosis", Type.VARCHAR)
    assert schema["cost"].grid is not None
    assert [schema["cost"].grid.lower, schema["cost"].grid.upper] == [0, 1000]
    assert relation(home).caps == Caps(50)
    assert relation(home, max_rows=3).caps == Caps(3)
    narrow = relation(home, "SELECT LEAST(GREATEST(cost, 10), 20) AS part FROM visits").schema["part"].grid
    assert narrow is not None
    assert [narrow.lower, narrow.upper] == [10, 20]


def stepped(found: DuckRelation, axes: list[Axis]) -> list[Axis]:
    """The same axes, their cents in the steps of the column's own grid."""
    grid = found.schema["cost"].grid
    assert grid is not None
    return [
        axis
        if isinstance(axis, str)
        else Bins(axis.column, tuple(int(Fraction(edge, 100) / grid.step) for edge in axis.edges))
        for axis in axes
    ]


@pytest.mark.parametrize("cap", [50, 3, 1])
@pytest.mark.parametrize("axes", TABLES, ids=range(len(TABLES)))
def test_it_counts_like_a_frame(home: Path, axes: list[Axis], cap: int) -> None:
    found = relation(home, max_rows=cap)
    wanted = stepped(found, axes)
    counts = found.counts(wanted)
    assert counts.tolist() == framed(found).counts(wanted).tolist()
    assert counts.sum() > 0


def test_sums_and_quantile_counts_are_a_frames_too(home: Path) -> None:
    found = relation(home, "SELECT region, urgent, cost FROM visits WHERE cost <= 2000")
    other, grid = framed(found), found.schema["cost"].grid
    assert grid is not None
    assert found.sums(["region", "urgent"], ["cost"]).tolist() == other.sums(["region", "urgent"], ["cost"]).tolist()
    assert found.sums([], ["cost", "cost"]).tolist() == other.sums([], ["cost", "cost"]).tolist()
    for edges in ([grid.low + 5], [grid.low, grid.low + 10, grid.high], list(range(grid.low, grid.high, 9_999))):
        assert found.quantile_counts("cost", edges).tolist() == other.quantile_counts("cost", edges).tolist()


def test_every_table_is_made_of_the_same_rows(home: Path) -> None:
    found = relation(home, max_rows=2)
    both = found.counts(["region", "urgent"])
    assert both.sum(axis=1).tolist() == found.counts(["region"]).tolist()  # urgent is nowhere NULL
    assert found.counts([]).item() == len(list(found.rows()))


@pytest.mark.parametrize("rule", ["other", "leave out"])
@pytest.mark.parametrize("cap", [50, 2])
def test_tables_of_one_release_are_of_the_same_rows_as_in_a_frame(home: Path, cap: int, rule: str) -> None:
    found = relation(home, max_rows=cap)
    narrow = stepped(found, [Bins("cost", (500, 7_000, 90_000))])[0]
    axes: dict[str, Axis] = {"region": "region", "urgent": "urgent", "cost": narrow}
    ours, theirs = counter(found, axes, rule), counter(framed(found), axes, rule)
    for names in ((), ("cost",), ("region", "urgent"), ("region", "cost"), ("region", "urgent", "cost")):
        assert ours(names).tolist() == theirs(names).tolist()
        assert ours(names).sum() == ours(()) > 0
    assert (ours(()) == len(list(found.rows()))) == (rule == "other")


def test_a_unit_counts_for_no_more_than_its_cap_and_for_itself_alone(tmp_path: Path) -> None:
    rows = [tuple(row.values()) for row in clinic.visits(20).to_pylist()]
    heavy = [(99, clinic.REGIONS[i % 3], "d1", float(i * 7 % 1000), clinic.START, i % 2 == 0) for i in range(200)]
    axes: list[Axis] = ["region", "urgent"]
    without = relation(clinic.home(tmp_path / "a", clinic.table(rows)), max_rows=4)
    beside = relation(clinic.home(tmp_path / "c", clinic.table([*rows, *heavy])), max_rows=4)
    # the salts of two homes differ, so who has too many rows keeps others; those who have not keep theirs
    light = [row for row in rows if Counter(each[0] for each in rows)[row[0]] <= 4]
    alone = relation(clinic.home(tmp_path / "d", clinic.table(light)), max_rows=4)
    together = relation(clinic.home(tmp_path / "e", clinic.table([*light, *heavy])), max_rows=4)
    moved = together.counts(axes) - alone.counts(axes)
    assert moved.min() >= 0
    assert moved.sum() == 4
    assert beside.counts([]).item() - without.counts([]).item() == 4


@given(st.sets(st.integers(-50, 50), min_size=2, max_size=30), st.lists(st.integers(-60, 60) | st.none(), max_size=20))
@settings(max_examples=60, deadline=None)
def test_a_place_is_how_many_cuts_lie_below(cuts: set[int], steps: list[int | None]) -> None:
    told = tuple(sorted(cuts))
    text = ", ".join(f"({'NULL' if step is None else step})" for step in [*steps, 0])
    found = duckdb.execute(f"SELECT x, {_place('x', told)} FROM (VALUES {text}) AS v (x)").fetchall()
    for step, place in found:
        assert place == (None if step is None else sum(cut <= step for cut in told))


def test_even_cuts_are_placed_like_others() -> None:
    for told in [(3, 6, 9, 12), (3, 6, 9, 13), (0, 1), (5, 6), (0, 100), (-4, -2, 0, 3), (-9, -6)]:
        values = ", ".join(f"({step})" for step in range(-12, 20))
        found = duckdb.execute(f"SELECT x, {_place('x', told)} FROM (VALUES {values}, (NULL)) AS v (x)").fetchall()
        for step, place in found:
            assert place == (None if step is None else sum(cut <= step for cut in told))


def test_what_is_not_declared_is_refused_before_a_row_is_read(home: Path) -> None:
    found = relation(home)
    beyond = Bins("cost", (-5, 10))
    for axes, words in (
        (["diagnosis"], "has no declared keys"),
        (["nowhere"], "there is no column 'nowhere'"),
        ([Bins("region", (0, 1))], "has no declared bounds"),
        ([beyond], "the bins of 'cost' go from"),
    ):
        with pytest.raises(Refusal, match=words):
            found.counts(axes)


def test_rows_that_are_their_own_unit_are_all_counted(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home", unit="row", max_rows=None)
    found = relation(home)
    assert found.caps == Caps(1)
    assert found.counts([]).item() == clinic.visits().num_rows
    regions = Counter(clinic.visits().column("region").to_pylist())
    assert found.counts(["region"]).tolist() == [regions[name] for name in clinic.REGIONS]
