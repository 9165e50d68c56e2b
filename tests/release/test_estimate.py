"""What is read off a histogram in one go is what it says cell by cell, to the last digits that floats have."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from doubles import Seeded

from discreet.release import Estimate, Hierarchy, Identity, Partition, QuadTree, Wavelet
from discreet.release.interval_tree import Splits, leaf_variances, starts

ONE = Fraction(1)
LINE = np.array([0, 3, 50, 2, 0, 0, 7, 1, 0, 40, 0])


def exactly(splits: Splits) -> list[float]:
    """The variance of every leaf in exact arithmetic: that of its share of its node, and of its own rest."""
    known = [Fraction(splits.total)]
    for children, spread in zip(splits.children, splits.spread, strict=True):
        below: list[Fraction] = []
        for node, (low, high) in enumerate(pairwise(starts(children).tolist())):
            own = [Fraction(each) for each in spread[low:high].tolist()]
            pool = sum(own, Fraction(0))
            below += [(each / pool) ** 2 * known[node] + each * (pool - each) / pool for each in own]
        known = below
    return [float(each) for each in known]


@pytest.mark.parametrize("ratio", [1.0, 1e12, 1e100])
def test_the_variance_of_every_leaf_is_exact_however_unlike_the_spreads_are(ratio: float) -> None:
    spread = (np.array([1.0, ratio, 3.0]), np.array([ratio, 2.0, 5.0, ratio, ratio, 1.0, 7.0, 1.0]))
    splits = Splits(0.25, (np.array([3]), np.array([2, 5, 1])), spread)
    assert leaf_variances(splits).tolist() == pytest.approx(exactly(splits), rel=1e-14)


@pytest.mark.parametrize(
    "release", [Identity(ONE, (11,)), Hierarchy(ONE, (11,)), Wavelet(ONE, (11,)), Partition(ONE, (11,))]
)
def test_the_error_of_every_cell_is_that_of_its_range(release: Identity | Hierarchy | Wavelet | Partition) -> None:
    told = release(LINE, rng=Seeded(1))
    errors = told.cell_errors()
    assert errors is not None
    one_by_one = [told.cell(place).error for place in range(11)]
    known = [each is not None for each in one_by_one]
    assert (~np.isnan(errors)).tolist() == known
    assert errors[known].tolist() == pytest.approx([each for each in one_by_one if each is not None], rel=1e-12)


def test_the_error_of_every_cell_of_a_plane_is_that_of_its_rectangle() -> None:
    told = QuadTree(ONE, (3, 5))(np.arange(15).reshape(3, 5), rng=Seeded(1))
    errors = told.cell_errors()
    assert errors is not None
    assert errors.ravel().tolist() == pytest.approx([told.cell(*place).error for place in np.ndindex(3, 5)], rel=1e-12)


@pytest.mark.parametrize("counts", [10 * LINE, -10 * LINE])
def test_shares_before_some_ends_are_those_among_all(counts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    told, ends = Wavelet(ONE, (11,))(counts, rng=Seeded(5)), np.array([1, 4, 10, 11])
    every, some = told.cdf(), told.cdf(ends)
    assert some[0].tolist() == every[0][ends - 1].tolist()
    if every[1] is None or some[1] is None:
        assert every[1] is some[1] is None
        assert counts.sum() < 0
    else:
        assert some[1].tolist() == every[1][ends - 1].tolist()
    assert (told.total.value <= 0) == (counts.sum() < 0)  # both ways to know the shares were taken


@pytest.mark.parametrize("value", [318.0, 99.213, 12345678.0, -0.37, 1e9 + 0.5])
@pytest.mark.parametrize("error", [0.003, 2.0, 20.0, 4567.8])
def test_a_printed_error_bar_holds_all_of_the_bar(value: float, error: float) -> None:
    low, high = Estimate(value, error).interval()
    told, far = map(float, str(Estimate(value, error)).split(" ± "))
    assert told - far <= low + 1e-9 * abs(low) * 1e-3
    assert high - 1e-9 * abs(high) * 1e-3 <= told + far
    assert far <= (high - low) / 2 * 1.001
    first, last = str(Estimate(value, error, (low, high))).split(" (from ")[1].removesuffix(")").split(" to ")
    assert float(first) <= low
    assert high <= float(last)
