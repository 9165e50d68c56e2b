"""A wavelet buys each of its levels, and what it keeps between calls is nobody's to change."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import Refusal
from discreet.release import Wavelet

ONE = Fraction(1)


@pytest.mark.parametrize("thin", [Fraction(1, 10**13), Fraction(1, 10**320)])
def test_a_share_that_buys_next_to_nothing_is_refused(thin: Fraction) -> None:
    with pytest.raises(Refusal, match="every part of epsilon to be at least 1e-12"):
        Wavelet(ONE, (4,), shares=(thin, Fraction(1, 2), Fraction(1, 2) - thin))


def test_the_thinnest_share_still_has_a_variance() -> None:
    thin = Fraction(1, 10**12)
    told = Wavelet(ONE, (4,), shares=(thin, Fraction(1, 2), Fraction(1, 2) - thin))(np.array([1, 2, 3, 4]))
    assert told.total.error == pytest.approx(2**0.5 * 1e12)
    one, many = told.range(0, 1).error, told.range(0, 4).error
    assert one is not None
    assert many is not None
    assert 0 < one < many < float("inf")


@pytest.mark.parametrize("shares", [(0, 0, 1), (0, ONE / 2, ONE / 2), (ONE / 2, 0, ONE / 2)])
def test_a_level_that_is_not_bought_is_refused(shares: tuple[Fraction, ...]) -> None:
    with pytest.raises(Refusal, match="measures every level"):
        Wavelet(ONE, (4,), shares=tuple(map(Fraction, shares)))


def test_the_tree_that_is_kept_between_calls_is_read_only() -> None:
    kept = Wavelet(ONE, (5987,)).children  # a size that no other test has, so that nothing else has fixed it
    assert len(kept) == 13
    assert not any(level.flags.writeable for level in kept)
