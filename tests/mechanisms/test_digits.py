"""A refusal never fails at the number that it names, however many digits that has."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet.errors import Refusal
from discreet.mechanisms.integer_noise import Geometric
from discreet.mechanisms.median import PureRank, SmoothRank
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.quantiles import Quantiles
from discreet.mechanisms.selection import ReportNoisyMax
from discreet.mechanisms.sparse import RefreshedSparseVector, SparseVector
from discreet.mechanisms.topk import ConcentratedTopK, TopK
from discreet.mechanisms.tulap import Tulap
from discreet.privacy import Replace

HUGE = 10**5000  # Python writes no whole number of more than 4300 digits
FINE = Fraction(HUGE + 1, 2 * HUGE)  # a half, nearly
HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Geometric(Fraction(1), HUGE, 0), r"lower < upper, got lower=1E\+5000 upper=0"),
        (lambda: Geometric(Fraction(1), 0, -HUGE), r"upper=-1E\+5000"),
        (lambda: Geometric(Fraction(1), FINE, 1), r"whole number lower, got lower=≈0\.5"),  # type: ignore[arg-type]
        (lambda: Tulap(Fraction(HUGE)), r"got epsilon=1E\+5000 bits=32"),
        (lambda: Tulap(Fraction(1), bits=HUGE), r"got epsilon=1 bits=1E\+5000"),
        (lambda: ReportNoisyMax(Fraction(1), 3, noise=HUGE), r"got noise=1E\+5000"),  # type: ignore[arg-type]
        (lambda: TopK(Fraction(1), 3, HUGE), r"got size=1E\+5000 candidates=3"),
        (lambda: ConcentratedTopK(Fraction(1), HUGE, HUGE + 1), r"size=≈1E\+5000 candidates=1E\+5000"),
        (lambda: SparseVector(Fraction(1), Fraction(1), HUGE), r"threshold < 2\^62, got threshold=1E\+5000"),
        (lambda: RefreshedSparseVector(Fraction(1), HUGE), r"threshold < 2\^62, got threshold=1E\+5000"),
        (lambda: Quantile(Fraction(1), Fraction(0), Fraction(9), Fraction(1), FINE), r"at most 2\^20, got ≈0\.5"),
        (
            lambda: Quantile(Fraction(1), Fraction(0), Fraction(9), Fraction(1), HALF, HUGE, Replace()),
            r"when units are replaced, got max_rows=1E\+5000",
        ),
        (
            lambda: Quantiles(Fraction(1), Fraction(0), Fraction(9), Fraction(1), (FINE, HALF)),
            r"rising levels, got ≈0\.5 before 1/2",
        ),
        (
            lambda: Quantiles(Fraction(1), Fraction(0), Fraction(9), Fraction(1), (HALF, FINE)),
            r"at most 2\^20, got a tuple too long to write",
        ),
        (
            lambda: PureRank(Fraction(1), Fraction(0), Fraction(9), Fraction(1), HUGE, 3),
            r"rank <= size, got rank=1E\+5000 size=3",
        ),
        (
            lambda: SmoothRank(
                Fraction(1), Fraction(1, 100), Fraction(1, HUGE), Fraction(3, 2 * HUGE), Fraction(1, HUGE), 2, 3
            ),
            r"only one step lies between lower=1E-5000 and upper=1\.5E-5000",
        ),
    ],
)
def test_a_number_of_five_thousand_digits_is_refused_by_name(build: Callable[[], object], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        build()
