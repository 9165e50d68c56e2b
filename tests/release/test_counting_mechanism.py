"""Publications: what is resolved from declarations, refused, read, promised and described.

False-alarm rate of the audits here: 1e-9 for each.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from doubles import Seeded
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from release.published import publication

from discreet.audit import audit
from discreet.errors import Refusal
from discreet.mechanisms import Axis, Bins, Caps, Column, Frame, Pair, Takes
from discreet.privacy import AddRemove, Concentrated, Pure, Replace, epsilon_at
from discreet.release import (
    Automatic,
    FourierMarginals,
    Hierarchy,
    Histogram,
    Identity,
    KeyAxis,
    NumberAxis,
    PrivateBins,
    Publication,
    Release,
    ResidualMarginals,
    Wish,
)

AGE, COST = Column("age", bounds=(0, 120), step=1), Column("cost", bounds=(0, 5000), step="0.01")
SEX, REGION = Column("sex", keys=("f", "m")), Column("region", keys=("north", "south", None))
SMOKES, NAME = Column("smokes", keys=(False, True)), Column("name")
ONE = Column("constant", bounds=("0.2", "0.9"), step="0.5")
CITY = Column("city", keys=tuple(range(100_000)))
COLUMNS = (AGE, COST, SEX, REGION, SMOKES, NAME, ONE, CITY)


def frame(*rows: dict[str, object], max_rows: int = 1, neighbours: Any = AddRemove("person")) -> Frame:  # noqa: ANN401
    values = []
    for column in COLUMNS:
        cells = np.empty(len(rows), dtype=object)
        cells[:] = [row.get(column.name) for row in rows]
        values.append(cells)
    return Frame(COLUMNS, tuple(values), Caps(max_rows), neighbours)


EMPTY = frame()


def wished(kind: str, *columns: str, **more: Any) -> Publication:  # noqa: ANN401
    outline = more.pop("outline", EMPTY)
    if "rho" not in more:
        more.setdefault("epsilon", 1)
    return publication(outline, Wish.of(kind, columns, **more))


def edges(found: Publication, place: int = 0) -> list[float]:
    axis = found.axes[place]
    assert isinstance(axis, Bins)
    step = found.columns[place].grid.step  # type: ignore[union-attr]
    return [float(edge * step) for edge in axis.edges]


def test_columns_become_axes_by_what_is_declared() -> None:
    assert edges(wished("histogram", "age")) == [*range(0, 121, 2), 121]
    assert edges(wished("ranges", "age")) == list(range(122))
    assert edges(wished("histogram", "cost")) == list(range(0, 5001, 100))
    assert edges(wished("ranges", "cost")) == list(range(0, 5001, 5))
    assert edges(wished("ranges", "age", "cost"), 1) == list(range(0, 5001, 20))
    assert wished("histogram", "sex").axes == ("sex",)
    assert wished("histogram", "smokes", "region").axes == ("smokes", "region")
    assert edges(wished("histogram", "age", bins={"age": "18,40,65"})) == [18, 40, 65]
    assert edges(wished("histogram", "age", bins={"age": 3})) == [0, 40, 80, 120]
    assert edges(wished("histogram", "cost", bins={"cost": "0:1:0.25"})) == [0, 0.25, 0.5, 0.75, 1]
    assert len(edges(wished("marginals", "age", "sex"))) - 1 <= 16


def test_a_column_with_keys_and_a_grid_is_cut_only_where_that_is_asked() -> None:
    both = Frame.of({"n": [1, 2]}, Column("n", keys=(1, 2, 3), bounds=(0, 10), step=1))
    assert wished("histogram", "n", outline=both).axes == ("n",)
    assert wished("histogram", "n", outline=both, bins={"n": 5}).axes == (Bins("n", (0, 2, 4, 6, 8, 11)),)


@pytest.mark.parametrize(
    ("kind", "columns", "more", "says"),
    [
        ("histogram", ["weight"], {}, "no column 'weight'"),
        ("histogram", ["name"], {}, r"neither declared keys nor bounds.*; declare --keys name=a,b,c or --bounds name="),
        ("histogram", ["age", "sex", "cost"], {}, r"one or two columns, got 3; take marginals"),
        ("histogram", ["sex"], {"bins": {"sex": 2}}, "'sex' has keys, and bins are for numbers"),
        ("histogram", ["sex"], {"bins": {"sex": "private"}}, "neither declared keys nor bounds|bins are for numbers"),
        ("histogram", ["age"], {"bins": {"age": "0:130:10"}}, "bins of 'age' go from 0 to 130.*bounds from 0 to 120"),
        ("histogram", ["age"], {"bins": {"age": "-10,50"}}, "bins of 'age' go from -10 to 50"),
        ("histogram", ["age"], {"bins": {"age": 122}}, "121 values"),
        ("histogram", ["constant"], {}, "one value only between its bounds.*; declare wider bounds"),
        ("histogram", ["constant"], {"bins": {"constant": "private"}}, "one value only"),
        ("histogram", ["city", "age"], {}, r"100000 × 61 cells, more than 4194304; use wider bins"),
        ("histogram", ["cost"], {"bins": {"cost": "0:5000:0.001"}}, "0.001 .* not on its grid|at most 2"),
        ("histogram", ["age"], {"method": "quadtree"}, "'quadtree' is not for a line"),
        ("ranges", ["age", "cost"], {"method": "hierarchy"}, "'hierarchy' is not for a plane"),
        ("histogram", ["age"], {"epsilon": "1e-30"}, "epsilon"),
        ("marginals", ["age", "name"], {}, "'name' has neither"),
        ("marginals", ["age", "sex"], {"bins": {"age": "private"}}, "declared bins.*publish a histogram of 'age'"),
        ("marginals", ["city", "cost"], {"bins": {"cost": 5000}}, "cells"),
        ("marginals", ["age", "sex"], {"tables": (("age", "weight"),)}, "no column"),
    ],
)
def test_what_cannot_be_published_is_refused_with_a_repair(
    kind: str, columns: list[str], more: dict[str, Any], says: str
) -> None:
    with pytest.raises(Refusal, match=says):
        wished(kind, *columns, **more)


def test_methods_by_name_and_by_default() -> None:
    assert wished("histogram", "age").mechanism == Identity(Fraction(1), (61,), 1, AddRemove("person"))
    assert isinstance(wished("ranges", "age").mechanism, Automatic)
    assert isinstance(wished("ranges", "age", method="hierarchy").mechanism, Hierarchy)
    assert isinstance(wished("histogram", "age", bins={"age": "private"}).mechanism, PrivateBins)
    for name in ("automatic", "identity", "hierarchy", "wavelet", "partition", "mwem", "uniform"):
        assert wished("ranges", "age", method=name).privacy == Pure(1)
    for name in ("automatic", "identity", "partition", "quadtree", "uniform-grid", "adaptive-grid", "mwem", "uniform"):
        assert wished("ranges", "age", "cost", method=name).privacy == Pure(1)
    assert isinstance(wished("marginals", "age", "sex").mechanism, FourierMarginals)
    assert isinstance(wished("marginals", "age", "sex", rho=1).mechanism, ResidualMarginals)
    assert isinstance(wished("marginals", "age", "sex", delta="1e-9").mechanism, ResidualMarginals)
    assert wished("marginals", "age", "sex", "region").tables == (("age", "sex"), ("age", "region"), ("sex", "region"))
    assert wished("marginals", "sex", "region", "smokes", ways=3, outside="leave out").cells == 12
    assert wished("marginals", "sex").tables == (("sex",),)


@pytest.mark.parametrize("delta", ["1e-5", "1e-9", "0.3"])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "7.3", "30"])
def test_the_rho_of_an_epsilon_and_a_delta_is_the_largest_within_both(epsilon: str, delta: str) -> None:
    found = wished("marginals", "age", "sex", epsilon=epsilon, delta=delta)
    loss = found.privacy
    assert isinstance(loss, Concentrated)
    assert epsilon_at(loss, delta) <= Fraction(epsilon)
    assert epsilon_at(Concentrated(loss.rho * Fraction(1_000_001, 1_000_000)), delta) > Fraction(epsilon)
    assert found.delta == Fraction(delta)


def test_caps_and_neighbours_set_the_noise() -> None:
    replaced = frame(max_rows=3, neighbours=Replace("person"))
    one: Any = wished("histogram", "age", outline=replaced).mechanism
    assert (one.most, one.distance, one.neighbours) == (3, 6, Replace("person"))
    one = wished("histogram", "age", outline=replaced, max_rows=2).mechanism
    assert one.most == 2
    for more in ({"rho": 1}, {"epsilon": 1}):
        tables = wished("marginals", "age", "sex", outline=replaced, **more)
        one = tables.mechanism
        assert (one.most, tables.neighbours) == (6, Replace("person"))
        assert tables.caps == Caps(3)


class Guarded:
    """A relation of which only the counts may be read; it remembers what was asked for."""

    def __init__(self, inner: Frame) -> None:
        self.schema, self.caps, self.neighbours = inner.schema, inner.caps, inner.neighbours
        self._inner = inner
        self.asked: list[tuple[Axis, ...]] = []

    def counts(self, axes: Sequence[Axis], /, within: Sequence[Axis] = ()) -> NDArray[np.int64]:
        self.asked.append(tuple(axes))
        return self._inner.counts(axes, within=within)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        raise AssertionError(name)


MANY = frame(*({"age": i % 97, "cost": i * 0.5, "sex": "fm"[i % 2], "region": "south"} for i in range(4000)))
ALL = [
    wished("histogram", "age"),
    wished("ranges", "cost"),
    wished("histogram", "sex", "age"),
    wished("histogram", "cost", bins={"cost": "private:8"}),
    wished("histogram", "cost", "age", bins={"cost": "private:4", "age": "private:3"}),
    wished("ranges", "age", "sex", method="mwem"),
    wished("marginals", "age", "sex", "region"),
    wished("marginals", "age", "sex", "region", rho=1),
]
every = pytest.mark.parametrize("found", ALL, ids=range(len(ALL)))


@every
def test_a_run_reads_counts_once_a_table_and_nothing_else(found: Publication) -> None:
    seen: Any = Guarded(MANY)
    told = found(seen, rng=Seeded(1))
    assert isinstance(told, Release)
    parts = {names[:size] for names in found.tables for size in range(len(names))} if found.outside == "other" else ()
    assert len(seen.asked) == len(set(seen.asked)) == len(found.tables) + len({*parts, ("region",)} if parts else ())
    assert set().union(*seen.asked) == set(found.axes)
    assert found.takes is Takes.RELATION
    assert told == found(MANY, rng=Seeded(1))
    assert told != found(MANY, rng=Seeded(2))
    found(MANY)


@every
def test_a_table_that_is_declared_otherwise_is_refused(found: Publication) -> None:
    with pytest.raises(Refusal, match="not declared as"):
        found(Frame(COLUMNS[1:], EMPTY.values[1:], Caps(1), AddRemove("person")) if "age" in str(found.tables) else
              Frame((AGE,), EMPTY.values[:1], Caps(1), AddRemove("person")))  # fmt: skip
    with pytest.raises(Refusal, match="neighbours"):
        found(frame(neighbours=Replace("person")))
    with pytest.raises(Refusal, match="units of 1 rows, and these have up to 2"):
        found(frame(max_rows=2))


@every
def test_all_that_is_public_is_described_in_plain_values(found: Publication) -> None:
    facts = found.described()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["kind"] == found.kind
    assert facts["neighbours"] == {"relation": "add-remove", "unit": "person"}
    assert facts["caps"] == {"max_rows": 1}
    assert min(len(str(facts[part])) for part in ("source", "proof")) > 10
    assert not any(isinstance(part, float) for part in leaves(facts))
    told = found(MANY, rng=Seeded(1))
    assert {**told.facts, "axes": facts["axes"]} == facts


def leaves(value: Any) -> list[object]:  # noqa: ANN401
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return [value] if parts is None else [leaf for part in parts for leaf in leaves(part)]


def test_axes_are_described_by_keys_or_exact_edges() -> None:
    facts: Any = wished("histogram", "region", "cost", bins={"cost": "0:1:0.5"}).described()
    assert facts["axes"] == [
        {"column": "region", "keys": ["north", "south", None]},
        {"column": "cost", "step": "0.01", "closed": True, "edges": ["0", "0.5", "1"]},
    ]
    chosen: Any = wished("histogram", "cost", bins={"cost": "private:8"}).described()
    assert chosen["axes"] == [{"column": "cost", "private": 8, "among": 2500, "bounds": ["0", "5000"]}]


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"age": 30, "cost": 1.5, "sex": "f", "region": "north"}],
        [{}] * 50,
        [{"age": 7, "cost": 7, "sex": "f", "region": None}] * 50,
        [{"age": 500, "cost": float("inf"), "sex": "x", "region": "east"}] * 50,
        [{"age": "old", "cost": float("nan"), "sex": 5, "region": []}] * 50,
    ],
    ids=["no row", "one row", "all NULL", "constant", "out of bounds", "nonsense"],
)
@every
def test_no_rows_make_it_raise(found: Publication, rows: list[dict[str, object]]) -> None:
    told = found(table := frame(*rows), rng=Seeded(3))
    truth = float(table.counts([axis for axis in found.axes if axis != "region"]).sum())
    if rows and "region" not in found.tables[0]:
        # beyond t errors with at most about √2 t · exp(1 − √2 t), by Chernoff's bound: below 1e-9
        assert abs(told.total.value - truth) <= 20 * (told.total.error or 30)
    for one in (told, told.nonnegative(), told.whole()):
        assert Release.from_json(one.to_json()) == one
        assert all(np.isfinite(one.counts(names)).all() for names in one.tables)


rows_of = st.fixed_dictionaries(
    {
        "age": st.one_of(st.none(), st.integers(-50, 200)),
        "cost": st.one_of(st.none(), st.floats()),
        "sex": st.sampled_from(["f", "m", "x", None]),
        "region": st.sampled_from(["north", "south", None]),
    }
)


@settings(max_examples=60, deadline=None)
@given(st.lists(rows_of, max_size=8), st.lists(rows_of, max_size=3), st.lists(rows_of, max_size=3))
def test_neighbouring_tables_are_no_further_apart_than_the_noise_is_for(
    others: list[Any], mine: list[Any], instead: list[Any]
) -> None:
    for relation in (AddRemove("person"), Replace("person")):
        left = frame(*others, *(instead if isinstance(relation, Replace) else []), max_rows=3, neighbours=relation)
        right = frame(*others, *mine, max_rows=3, neighbours=relation)
        for found in (
            wished("histogram", "age", outline=left),
            wished("histogram", "cost", "sex", outline=left, bins={"cost": "private"}),
        ):
            mechanism: Any = found.mechanism
            apart = np.abs(left.counts(found.axes) - right.counts(found.axes)).sum()
            assert apart <= mechanism.distance


SMALL = [
    wished("histogram", "sex"),
    wished("histogram", "sex", "smokes", outline=frame(max_rows=2, neighbours=Replace("person"))),
    wished("ranges", "age", bins={"age": 4}, method="hierarchy", outline=frame(max_rows=2)),
    wished("ranges", "age", bins={"age": 4}),
    wished("histogram", "age", bins={"age": "private:3"}),
    wished("histogram", "age", bins={"age": "private:2"}, outline=frame(max_rows=2, neighbours=Replace("person"))),
    wished("marginals", "sex", "smokes", outline=frame(max_rows=2, neighbours=Replace("person"))),
    wished("marginals", "sex", "region", rho="0.5"),
]
ALPHA = Fraction(1, 10**9)  # of a false alarm of one audit
small = pytest.mark.parametrize("found", SMALL, ids=range(len(SMALL)))


def seen(found: Publication) -> Any:  # noqa: ANN401
    """What an auditor sees: the counts of every table, and the edges of the bins."""

    def run(data: Frame, *, rng: Any) -> tuple[float, ...]:  # noqa: ANN401
        told = found(data, rng=rng)
        counts = [np.round(told.counts(names).ravel(), 6) for names in told.tables]
        ends = [np.asarray(axis.steps) for axis in told.axes if isinstance(axis, NumberAxis)]
        padded = [np.pad(own, (0, 9 - own.size), constant_values=-1) for own in ends if own.size < 9]
        parts = told.content.part if isinstance(told.content, Histogram) else np.zeros(0)
        wide = [np.pad(own, (0, 24 - own.size), constant_values=-1) for own in (*counts, parts)]
        return tuple(float(cell) for own in (*wide, *padded) for cell in own)

    return run


@small
def test_its_pairs_are_neighbours(found: Publication) -> None:
    mechanism: Any = found.mechanism
    for pair in found.pairs():
        assert isinstance(pair, Pair)
        assert repr(pair.left) != repr(pair.right)
        sizes = [len(list(side.rows())) for side in (pair.left, pair.right)]
        moved = np.abs(pair.left.counts(found.axes) - pair.right.counts(found.axes)).sum()
        most = found.caps.rows
        assert 0 < moved <= (most if isinstance(found.neighbours, AddRemove) else 2 * most)
        assert abs(sizes[0] - sizes[1]) == (most if isinstance(found.neighbours, AddRemove) else 0)
    if isinstance(found.mechanism, (ResidualMarginals, FourierMarginals)):
        return
    furthest = max(np.abs(pair.left.counts(found.axes) - pair.right.counts(found.axes)).sum() for pair in found.pairs())
    assert furthest == mechanism.distance


def held(found: Publication, samples: int) -> None:
    rng = Seeded(crc32(repr(found).encode()))
    verdict = audit(seen(found), found.pairs(), claim=found.privacy, samples=samples, alpha=ALPHA, rng=rng)
    assert not verdict.refuted, str(verdict)


@small
@pytest.mark.slow
def test_its_promise_withstands_an_audit(found: Publication) -> None:
    held(found, 500)


@pytest.mark.slow
@small
def test_its_promise_withstands_a_longer_audit(found: Publication) -> None:
    held(found, 5_000)


@pytest.mark.parametrize("found", [SMALL[0], SMALL[4], SMALL[6]], ids=["histogram", "private bins", "marginals"])
@pytest.mark.slow
def test_the_same_audit_refutes_a_unit_of_several_times_the_rows(found: Publication) -> None:
    wide = found.caps.rows * 6
    pairs = [
        (replace(pair.left, caps=found.caps), replace(pair.right, caps=found.caps))
        for pair in replace(found, caps=Caps(wide)).pairs()
    ]
    assert audit(seen(found), pairs, claim=found.privacy, samples=1_000, alpha=ALPHA, rng=Seeded(1)).refuted


@pytest.mark.slow
def test_a_cell_is_within_the_error_that_was_told_before() -> None:
    """At least 0.88 of 40 × 60 cells, each within at 0.95: a false alarm has probability below 1e-10 (Hoeffding)."""
    found = wished("histogram", "age")
    truth, far = MANY.counts(found.axes), float(found.error("0.95") or 0)
    near = [np.abs(found(MANY, rng=Seeded(seed)).counts() - truth) <= far for seed in range(40)]
    assert np.mean(near) >= 0.88
    nearer = [np.abs(found(MANY, rng=Seeded(seed)).counts() - truth) <= far / 3 for seed in range(40)]
    assert np.mean(nearer) < 0.88


def test_the_axes_of_a_release_are_those_that_were_declared() -> None:
    told = wished("histogram", "region", "cost", bins={"cost": "0:1:0.5"})(MANY)
    keys, bins = KeyAxis("region", ("north", "south", None)), NumberAxis("cost", (0, 50, 100), Fraction(1, 100))
    assert told.axes == (keys, bins)
