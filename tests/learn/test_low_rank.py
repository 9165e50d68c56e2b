"""Matrices of low rank: how far a unit moves a product, and how far off an approximation is."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from doubles import Seeded

from discreet.errors import Refusal
from discreet.learn import LowRank, MatrixFactors
from discreet.learn.fit_price import rho_of
from discreet.learn.low_rank import Multiplied, whole
from discreet.mechanisms import Column, Frame
from discreet.privacy import AddRemove, Concentrated, Replace

HUGE = 10**20


def table(entries: Any, **more: Any) -> Frame:  # noqa: ANN401
    """Numbers of a matrix of 2 by 3."""
    rows = [*entries]
    columns = (Column("a", keys=(0, 1)), Column("b", keys=(0, 1, 2)), Column("y", bounds=(-2, 1), step=1))
    return Frame.of({name: [row[i] for row in rows] for i, name in enumerate("aby")}, *columns, **more)


@pytest.mark.parametrize("neighbours", [AddRemove(), Replace()])
def test_no_unit_moves_a_product_further_than_was_paid_for(neighbours: Any, monkeypatch: Any) -> None:  # noqa: ANN401
    what = MatrixFactors(("a", "b"), "y", 2, rho=Fraction(1), iterations=0, max_rows=2, neighbours=neighbours)
    seen: list[tuple[Multiplied, Any]] = []
    widths: list[Fraction] = []
    plain = Multiplied.__call__

    def told(self: Multiplied, factor: Any, rng: Any, *, turned: bool = False) -> Any:  # noqa: ANN401
        seen.append((self, factor))
        return plain(self, factor, rng, turned=turned)

    def drawn(variance: Fraction, *, rng: Any) -> int:  # noqa: ANN401, ARG001
        widths.append(variance)
        return 0

    monkeypatch.setattr(Multiplied, "__call__", told)
    monkeypatch.setattr("discreet.learn.low_rank.gaussian", drawn)
    what(table([(0, 0, 1)], max_rows=2), rng=Seeded(1))
    assert [each.price for each, _ in seen] == [Fraction(1, 2)] * 2
    for (_, factor), width, turned in zip(seen, (widths[0], widths[-1]), (False, True), strict=True):
        moved = []
        cells = list(itertools.product((0, 1), (0, 1, 2), (-2, 1)))
        for unit in itertools.combinations_with_replacement(cells, 2):
            entries = table(unit, max_rows=2).sums(("a", "b"), ("y",))[..., 0].astype(object)
            moved.append((entries.T if turned else entries).dot(factor.astype(object)))
        least = [each - other for each in moved for other in (moved if neighbours == Replace() else [0])]
        lost = max(Fraction(int((each**2).sum())) for each in least) / (2 * width)
        assert Fraction(1, 4) <= lost <= Fraction(1, 2)


def flat(m: int = 120, n: int = 80, rank: int = 3) -> Any:  # noqa: ANN401
    """A matrix of numbers between −1 and 1, of low rank but for a little."""
    rng = np.random.default_rng(3)
    one, two = np.sign(rng.normal(size=(m, rank))), np.sign(rng.normal(size=(rank, n)))
    return np.clip(one * [0.6, 0.25, 0.1] @ two + rng.normal(size=(m, n)) * 0.01, -1, 1)


@pytest.mark.parametrize("iterations", [0, 2])
def test_without_noise_to_speak_of_it_is_the_best_there_is(iterations: int) -> None:
    a = flat()
    told = LowRank(3 if iterations else 12, epsilon=HUGE, bounds=(-1, 1), iterations=iterations).fit(a)
    u, values, v = np.linalg.svd(a, full_matrices=False)
    best = np.linalg.norm(a - (u[:, :3] * values[:3]) @ v[:3])
    assert np.linalg.norm(a - told.approximation_) < best * (1.05 if iterations else 3)
    assert told.components_ @ told.components_.T == pytest.approx(np.eye(len(told.components_)), abs=1e-9)
    assert told.model_.predict([[0, 1], [119, 79], [120, 0]])[:2] == pytest.approx(
        [told.approximation_[0, 1], told.approximation_[119, 79]]
    )


def test_at_a_price_people_pay_it_is_no_further_off_than_the_theorem() -> None:
    a, p, epsilon = flat(), 8, 4
    what = LowRank(p, epsilon=epsilon, bounds=(-1, 1), iterations=0).mechanism(("row", "column"))
    (m, n), reach = a.shape, 1.0
    assert not isinstance(what.privacy, Concentrated)
    sigma = reach / math.sqrt(float(rho_of(what.privacy)))  # type: ignore[arg-type]
    values = np.linalg.svd(a, compute_uv=False)
    bound = min(
        math.sqrt(1 + k / (p - k - 1)) * np.linalg.norm(values[k:])
        + sigma * (math.sqrt(p) + math.sqrt(2 * math.log(n)) + 1) * math.sqrt(m * k / (p - k - 1))
        + sigma * math.sqrt(n * p)  # rows of Q are at most 1 long
        for k in range(p - 1)
    )
    off = [
        np.linalg.norm(a - LowRank(p, epsilon=epsilon, bounds=(-1, 1), iterations=0).fit(a).approximation_)
        for _ in range(3)
    ]
    assert np.mean(off) < bound


def test_flat_factors_need_less_noise_and_a_coherence_makes_them_flat() -> None:
    what = MatrixFactors(("a", "b"), "y", 2, rho=Fraction(1), coherence=Fraction(2))
    factor = np.array([[1.0, 0], [0, 0.1], [0, 0], [0.3, -0.3]])
    steps = what._flat(factor)
    assert np.linalg.norm(steps * 2.0**-20, axis=1) == pytest.approx([1, 0.1, 0, 0.3 * 2**0.5], abs=1e-5)
    narrow = MatrixFactors(("a", "b"), "y", 2, rho=Fraction(1), coherence=Fraction(1, 2))._flat(factor)
    assert np.linalg.norm(narrow * 2.0**-20, axis=1) == pytest.approx([0.5, 0.1, 0, 0.3 * 2**0.5], abs=1e-5)
    exact = Multiplied(np.zeros((2, 4), dtype=np.int64), 3, Fraction(10))
    drawn = exact(np.repeat(whole(factor), 200, axis=1), Seeded(1))
    long = 3 * math.sqrt(200) / math.sqrt(20)
    assert drawn.std() == pytest.approx(long, rel=0.25)


@pytest.mark.parametrize("rows", [0, 1])
def test_few_entries_are_fitted_like_any_and_units_have_several(rows: int) -> None:
    told = LowRank(2, bounds=(0, 1)).fit(np.ones((rows, 3)))
    assert told.approximation_.shape == (rows, 3)
    assert told.privacy_.neighbours == AddRemove("entry")
    own = LowRank(2, bounds=(0, 1), max_rows=3).fit(np.ones((4, 3)), units=np.repeat(np.arange(4), 3).reshape(4, 3))
    assert own.privacy_.neighbours == AddRemove()


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(Refusal, match="needs a delta"):
        LowRank(2, bounds=(0, 1), delta=0).fit(np.eye(2))
    with pytest.raises(Refusal, match="rows and columns"):
        MatrixFactors(("a",), "y", 1, rho=Fraction(1))
