"""Sums of tables over columns, and the way back, against numpy's own."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.release.marginals.domain import Axes, Domain
from discreet.release.synthetic.sums import SumPlan, greatest, summed

SIZES = (2, 40, 3, 18, 1, 2)
DOMAIN = Domain(tuple("abcdef"), SIZES)
EVERY = [axes for many in range(len(SIZES) + 1) for axes in combinations(range(len(SIZES)), many)]


@pytest.mark.parametrize("axes", EVERY, ids=str)
def test_a_sum_and_a_maximum_are_those_of_numpy(axes: Axes) -> None:
    table = np.random.default_rng(1).normal(size=SIZES)
    before = table.copy()
    assert np.allclose(summed(table, axes), table.sum(axes, keepdims=True))
    assert np.array_equal(greatest(table, axes), table.max(axes, keepdims=True))
    assert np.array_equal(table, before)


@given(st.lists(st.sampled_from([axes for axes in EVERY if set(axes) <= {0, 1, 2, 5}]), max_size=9))
def test_a_plan_sums_and_spreads_what_was_wanted(wanted: list[Axes]) -> None:
    clique = (0, 1, 2, 5)
    plan, shape = SumPlan(DOMAIN, clique, wanted), DOMAIN.shape(clique)
    random = np.random.default_rng(2)
    table = random.normal(size=shape)
    found = plan.sums(table)
    assert set(found) == set(wanted)
    for axes, told in found.items():
        assert np.allclose(told, table.sum(tuple(place for place, i in enumerate(clique) if i not in axes)))
    parts = {axes: random.normal(size=DOMAIN.shape(axes)) for axes in wanted}
    kept = {axes: part.copy() for axes, part in parts.items()}
    whole = np.zeros(shape)
    for axes, part in parts.items():
        whole = whole + part.reshape([SIZES[i] if i in axes else 1 for i in clique])
    assert np.allclose(plan.spread(parts), whole)
    assert all(np.array_equal(parts[axes], kept[axes]) for axes in parts)
