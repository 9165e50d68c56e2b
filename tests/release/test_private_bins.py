"""Bins that are chosen privately: on the grid, about as full as each other, and paid for.

False-alarm rate of the audits here: 1e-9 for each. That publications with such bins keep their promise
is audited in test_publication.py.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st
from local.laws import usual
from release.examples import OTHERS
from release.laws import added_sizes
from release.published import publication

from discreet.audit import audit
from discreet.errors import Refusal
from discreet.mechanisms import Column, Frame
from discreet.privacy import Pure, Replace
from discreet.release import Histogram, NumberAxis, PrivateBins, Publication, Wish
from discreet.release.histogram import NONE
from discreet.release.private_bins import Chosen, even_ends

EXAMPLES = OTHERS["private-bins"]
ALPHA = Fraction(1, 10**9)  # of a false alarm of one audit
each = pytest.mark.parametrize("release", EXAMPLES, ids=range(len(EXAMPLES)))
SKEWED = np.concatenate([np.full(10, 500), np.full(90, 5)])
COSTS = Frame.of(
    {"cost": np.exp(np.arange(20_000) % 900 / 110), "sex": np.where(np.arange(20_000) % 3 == 0, "f", "m")},
    Column("cost", bounds=(0, 5000), step="0.01"),
    Column("sex", keys=("f", "m")),
)


def published(epsilon: object = 1, *columns: str, bins: str = "private:8", **more: Any) -> Publication:  # noqa: ANN401
    wish = {"kind": "histogram", "columns": columns or ("cost",), "epsilon": epsilon, "bins": {"cost": bins}}
    return publication(COSTS, Wish.read({**wish, **more}))


@pytest.mark.parametrize("fill", [0, 1, -5, (1 << 63) - 1, -(1 << 63)])
@each
def test_no_counts_make_it_raise_and_bins_go_from_end_to_end(release: Any, fill: int) -> None:  # noqa: ANN401
    for seed in range(5):
        told = release(np.full(release.shape, fill, dtype=np.int64), rng=Seeded(seed))
        assert isinstance(told, Chosen)
        assert np.isfinite(told.histogram.counts).all()
        assert told.histogram.shape == tuple(len(own) - 1 for own in told.cuts)
        for own, many, side in zip(told.cuts, release.bins, release.shape, strict=True):
            assert (own[0], own[-1]) == (0, side)
            assert all(low < high for low, high in pairwise(own))
            assert len(own) - 1 <= (many or side)
            assert many or own == tuple(range(side + 1))


def test_counts_of_bins_are_sums_of_fine_counts_with_noise_of_the_rest_of_epsilon() -> None:
    """Discrete Laplace noise of two records at three quarters of ε, by the law of all its sizes together: at 1e-9."""
    release, noise = PrivateBins(Fraction(1), (100,), 2, bins=(5,), ratio=Fraction(1, 4)), []
    for seed in range(150):
        told = release(SKEWED, rng=Seeded(seed))
        noise += (told.histogram.counts - np.add.reduceat(SKEWED, told.cuts[0][:-1])).tolist()
    assert noise == pytest.approx(np.rint(noise))
    size = round(np.abs(noise).sum())
    assert usual(size, added_sizes(2 / 0.75, len(noise)), 1e-9)
    assert not any(usual(size, added_sizes(wrong * 2 / 0.75, len(noise)), 1e-9) for wrong in (0.7, 1.3))
    assert told.histogram.cell(0).error == pytest.approx(np.sqrt(2) * 2 / 0.75, rel=0.02)


def test_the_two_stages_cost_what_is_promised() -> None:
    plane = PrivateBins(Fraction(2), (30, 40), 3, Replace("person"), (4, 5), Fraction(1, 4))
    finders = [plane.finder(side).privacy for side in plane.shape]
    assert finders == [Pure(Fraction(1, 4))] * 2
    assert sum((*finders, plane.counter((4, 5)).privacy), Pure(0)) == Pure(2) == plane.privacy
    line = PrivateBins(Fraction(2), (30, 40), 3, Replace("person"), (0, 5), Fraction(1, 4))
    assert line.finder(40).privacy + line.counter((30, 5)).privacy == Pure(2)
    counter: Any = line.counter((30, 5))
    assert (line.finder(40).distance, counter.distance) == (6, 6)
    assert line.error() == counter.error()


def test_bins_are_about_as_full_as_each_other() -> None:
    """At a price at which no noise is drawn they end as near to eighths as the cells of the fine grid do."""
    axis = published(1000)(COSTS, rng=Seeded(1)).axes[0]
    assert isinstance(axis, NumberAxis)
    assert len(axis) == 8
    values = COSTS.values[0].astype(np.float64)
    shares = np.cumsum(np.histogram(values, axis.edges)[0]) / values.size
    finest = np.histogram(values, np.linspace(0, 5000, 2501))[0].max() / values.size
    assert np.abs(shares - np.arange(1, 9) / 8).max() <= finest / 2 < 0.05
    equal = np.histogram(values, np.linspace(0, 5000, 9))[0] / values.size
    assert equal.max() > 0.6


def test_edges_are_an_output_and_lie_on_the_grid() -> None:
    found = published("0.1")
    seen = {found(COSTS, rng=Seeded(seed)).axes for seed in range(20)}
    assert len(seen) > 1
    for (axis,) in seen:
        assert isinstance(axis, NumberAxis)
        assert (axis.steps[0], axis.steps[-1]) == (0, 500_000)
        assert set(axis.steps) <= set(found.axes[0].edges)  # type: ignore[union-attr]


@pytest.mark.parametrize("rows", [0, 1, 3000])
def test_a_constant_column_and_an_empty_one_have_bins_as_well(rows: int) -> None:
    """And all rows are counted, at a price at which no noise is drawn."""
    table = Frame.of({"cost": [5.0] * rows}, COSTS.columns[0])
    for epsilon in (1, 1000):
        wish = Wish.of("histogram", ("cost",), epsilon=epsilon, bins={"cost": "private:8"})
        told = publication(table, wish)(table, rng=Seeded(1))
        assert 1 <= len(told.axes[0]) <= 8
    assert told.total.value == pytest.approx(rows)
    assert told.cell(cost=5).value == pytest.approx(rows)
    if rows:  # all ends fall around the one value
        assert len(told.axes[0]) < 8


def test_a_plane_may_have_one_side_of_keys_and_one_of_private_bins() -> None:
    told = published(2, "sex", "cost")(COSTS, rng=Seeded(1))
    assert told.columns == ("sex", "cost")
    assert told.content.shape == (2, len(told.axes[1]))
    women = told.range(sex="f")
    assert abs(women.value - (COSTS.values[1] == "f").sum()) < 20 * (women.error or 0)  # further off once in 10^10


def test_few_steps_give_as_many_bins_as_there_are() -> None:
    table = Frame.of({"n": np.arange(300) % 4}, Column("n", bounds=(0, 4), step=1))
    told = publication(table, Wish.of("histogram", ("n",), epsilon=9, bins={"n": "private:50"}))(table, rng=Seeded(1))
    assert len(told.axes[0]) <= 4


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(1, 12))
def test_ends_come_as_near_to_even_shares_as_cells_allow(counts: list[int], bins: int) -> None:
    line = Histogram(np.array(counts, dtype=np.float64), np.arange(len(counts)), None, NONE)
    ends = even_ends(line, bins)
    assert ends[0] == 0
    assert ends[-1] == len(counts)
    shares = np.concatenate([[0.0], line.cdf()[0]])
    for i in range(1, bins):
        best = np.abs(shares - i / bins).min()
        assert np.abs(shares[ends] - i / bins).min() == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(
    ("bins", "says"),
    [((0,), "not 0 all"), ((7,), "up to the cells"), ((2, 2), "one number a side"), ([3], "tuple"), ((-1,), "bins"),
     (("x",), "bins")],
)  # fmt: skip
def test_nonsense_is_refused(bins: Any, says: str) -> None:  # noqa: ANN401
    with pytest.raises(Refusal, match=says):
        PrivateBins(Fraction(1), (6,), bins=bins)
    with pytest.raises(Refusal, match="not for a line"):
        PrivateBins(Fraction(1), (6,), bins=(3,), method="quadtree")


def told(release: PrivateBins) -> Any:  # noqa: ANN401
    """What an auditor sees: where the bins end, and their counts."""
    room = release.cells + sum(release.shape) + len(release.shape)

    def run(data: Any, *, rng: Any) -> tuple[float, ...]:  # noqa: ANN401
        chosen = release(data, rng=rng)
        seen = [*(end for own in chosen.cuts for end in own), *np.round(chosen.histogram.counts.ravel(), 6).tolist()]
        return (*map(float, seen), *[-1.0] * (room - len(seen)))

    return run


def held(release: PrivateBins, samples: int) -> None:
    pairs = [(pair.left, pair.right) for pair in release.pairs()]
    rng = Seeded(crc32(repr(release).encode()))
    verdict = audit(told(release), pairs, claim=release.privacy, samples=samples, alpha=ALPHA, rng=rng)
    assert not verdict.refuted, str(verdict)


@each
@pytest.mark.slow
def test_its_promise_withstands_an_audit(release: PrivateBins) -> None:
    held(release, 600)


@pytest.mark.slow
@each
def test_its_promise_withstands_a_longer_audit(release: PrivateBins) -> None:
    held(release, 6_000)


@pytest.mark.slow
def test_the_same_audit_refutes_a_distance_several_times_as_large() -> None:
    release = EXAMPLES[0]
    pairs = [(pair.left, pair.left + 6 * (pair.right - pair.left)) for pair in release.pairs()]
    assert audit(told(release), pairs, claim=release.privacy, samples=1_000, alpha=ALPHA, rng=Seeded(1)).refuted
