"""Multiplicative weights buy a total and two things a round, and keep questions that are nobody's to change."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import Refusal
from discreet.release import MultiplicativeWeights

ONE = Fraction(1)
COUNTS = np.array([5, 0, 40, 3])


@pytest.mark.parametrize("thin", [Fraction(1, 10**13), Fraction(1, 10**320)])
def test_a_total_or_rounds_that_get_next_to_nothing_are_refused(thin: Fraction) -> None:
    for ratio in (thin, 1 - thin):
        with pytest.raises(Refusal, match="every part of epsilon to be at least 1e-12"):
            MultiplicativeWeights(ONE, (4,), ratio=ratio)


def test_more_rounds_than_epsilon_pays_for_are_refused() -> None:
    half = Fraction(1, 2)
    most = 10**12 // 4  # (1 − 1/2)/(2 rounds) is 1e-12 then
    assert MultiplicativeWeights(ONE, (4,), rounds=most, ratio=half).rounds == most
    with pytest.raises(Refusal, match="got so many rounds with"):
        MultiplicativeWeights(ONE, (4,), rounds=most + 1, ratio=half)


def test_rounds_that_follow_from_the_total_are_paid_for_however_many_they_are() -> None:
    """At the least ε that there is, 60 rounds of two parts each have 1e-9 · 0.95/120, which is above 1e-12."""
    least = MultiplicativeWeights(Fraction(1, 10**9), (4,))
    assert least(COUNTS).counts.shape == (4,)
    with pytest.raises(Refusal, match="every part of epsilon"):
        MultiplicativeWeights(Fraction(1, 10**9), (4,), ratio=Fraction(99, 100))


@pytest.mark.parametrize("shape", [(5987,), (61, 67)])
def test_the_questions_that_are_kept_between_calls_are_read_only(shape: tuple[int, ...]) -> None:
    kept = MultiplicativeWeights(ONE, shape).questions
    assert len(kept) == 2 * len(shape)
    assert not any(ends.flags.writeable for ends in kept)


def test_the_total_is_within_its_error_also_of_no_records() -> None:
    mechanism = MultiplicativeWeights(Fraction(1000), (4,))
    for counts in (np.zeros(4, dtype=np.int64), COUNTS):
        assert abs(float(mechanism(counts).counts.sum()) - counts.sum()) <= mechanism.error()
