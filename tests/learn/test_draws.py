"""Noise as it is drawn: every whole number that a fit adds noise to, between neighbours, beside the noise it is given.

Nothing here is taken from the code under test but the numbers and the scales at which it asks its samplers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.learn import FunctionalLogistic, LeastSquares, NaiveBayes, SparseLeastSquares, Standardize
from discreet.mechanisms import Column, Frame
from discreet.privacy import Concentrated, Pure, Replace, concentrated_for

ONE, HALF, RARE = Fraction(1), Fraction(1, 2), Fraction(1, 10**6)
MODULES = ("least_squares", "moments", "sparse_regression")
Row = tuple[int, ...]


class Watched:
    """Noise of no size, which says what it was added to."""

    __array_ufunc__ = None  # numpy's numbers leave the sum to us, too

    def __init__(self, width: Fraction, *, normal: bool, seen: list[Drawn]) -> None:
        self._width, self._normal, self._seen = width, normal, seen

    def __radd__(self, value: int) -> int:
        self._seen.append(Drawn(int(value), Fraction(self._width), self._normal))
        return int(value)


@dataclass(frozen=True)
class Drawn:
    """A number, and the noise that it got: the scale of Laplace noise, or the variance of Gaussian."""

    value: int
    width: Fraction
    normal: bool


CASES: list[tuple[Any, Fraction]] = [  # with the part of the price that noise on whole numbers pays
    (LeastSquares(("a",), "y", ONE), ONE),
    (LeastSquares(("a", "b"), "y", ONE, max_rows=2), ONE),
    (LeastSquares(("a", "b"), "y", rho=HALF, neighbours=Replace()), ONE),
    (LeastSquares(("a",), "y", ONE, RARE, max_rows=2, fit_intercept=False, neighbours=Replace()), ONE),
    (FunctionalLogistic(("a",), "y", ONE, max_rows=2), ONE),
    (FunctionalLogistic(("a", "b"), "y", rho=HALF, neighbours=Replace()), ONE),
    (NaiveBayes(("a", "b"), "y", ONE, neighbours=Replace()), ONE),
    (NaiveBayes(("a", "b"), "y", rho=HALF, max_rows=2), ONE),
    (Standardize(("a", "b"), ONE, max_rows=2), ONE),
    (Standardize(("a",), rho=HALF, neighbours=Replace()), ONE),
    (SparseLeastSquares(("a",), "y", 1, ONE, max_rows=2), Fraction(6, 10)),
    (SparseLeastSquares(("a",), "y", 1, ONE, neighbours=Replace()), Fraction(6, 10)),
    (SparseLeastSquares(("a",), "y", 1, rho=HALF, max_rows=2), Fraction(6, 10)),
    (SparseLeastSquares(("a",), "y", 1, rho=HALF, max_rows=2, neighbours=Replace()), Fraction(6, 10)),
]
WIDE = {"a": (-2, 2), "b": (0, 6), "y": (-3, 1)}


def frame(what: Any, rows: list[Row]) -> Frame:  # noqa: ANN401
    """Columns of different bounds; a label with two classes where there are such."""
    names = [*what.features, *filter(None, [getattr(what, "label", None)])]
    classes = isinstance(what, FunctionalLogistic | NaiveBayes)
    columns = [
        Column(name, keys=(0, 1)) if classes and name == "y" else Column(name, bounds=WIDE[name], step=1)
        for name in names
    ]
    data = {name: np.array([row[i] for row in rows], dtype=np.int64) for i, name in enumerate(names)}
    return Frame.of(data, *columns, max_rows=what.max_rows, neighbours=what.neighbours)


def corners(what: Any) -> Iterator[Row]:  # noqa: ANN401
    """Rows at the ends of what is declared."""
    names = [*what.features, *filter(None, [getattr(what, "label", None)])]
    classes = isinstance(what, FunctionalLogistic | NaiveBayes)
    yield from itertools.product(*((0, 1) if classes and name == "y" else WIDE[name] for name in names))


def drawn(what: Any, rows: list[Row], monkeypatch: pytest.MonkeyPatch) -> list[Drawn]:  # noqa: ANN401
    """All numbers that a fit of these rows adds noise to, in order."""
    seen: list[Drawn] = []
    with monkeypatch.context() as doubled:
        for module in MODULES:
            for name in ("laplace", "gaussian"):
                doubled.setattr(
                    f"discreet.learn.{module}.{name}",
                    lambda width, *, rng, normal=name == "gaussian": Watched(width, normal=normal, seen=seen),  # noqa: ARG005
                )
        what(frame(what, rows))
    return seen


def lost(one: list[Drawn], two: list[Drawn]) -> Fraction:
    """ε or ρ by which the noise tells two fits apart."""
    assert [(each.width, each.normal) for each in one] == [(each.width, each.normal) for each in two]
    moves = ((a, abs(a.value - b.value)) for a, b in zip(one, two, strict=True))
    return sum((move**2 / (2 * a.width) if a.normal else move / a.width for a, move in moves), Fraction(0))


@pytest.mark.parametrize(("what", "share"), CASES, ids=repr)
def test_all_noise_together_hides_a_unit_at_the_price_that_was_paid(
    what: Any,  # noqa: ANN401
    share: Fraction,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Over all corners, beside rows of others; a unit that comes, and one that takes another's place."""
    others = [row for row in corners(what) for _ in range(2)]
    units = [[row] * what.max_rows for row in corners(what)]
    fits = [drawn(what, others + unit, monkeypatch) for unit in units]
    alone = what.neighbours != Replace()
    nobody = drawn(what, others, monkeypatch)
    pairs = [(nobody, fit) for fit in fits] if alone else list(itertools.combinations(fits, 2))
    worst = max(lost(one, two) for one, two in pairs)
    loss = what.privacy
    if isinstance(loss, Pure):
        paid = loss.epsilon
    else:
        paid = loss.rho if isinstance(loss, Concentrated) else concentrated_for(loss.epsilon, loss.delta).rho
    assert worst <= paid * share
    assert worst >= paid * share / 4
