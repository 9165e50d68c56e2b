"""The classroom's estimate, and randomized response for a crowd."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from doubles import Seeded
from local.laws import of_coins, usual

from discreet.errors import Refusal
from discreet.interval_arithmetic import log
from discreet.local import Response, classroom
from discreet.mechanisms import RandomizedResponse

LN_3 = RandomizedResponse.warner().epsilon


def test_sixty_of_a_hundred_said_yes_so_seventy_are() -> None:
    """The tutorial's: 2 (60 % − 1/4) = 70 %, exactly."""
    assert classroom(60, 100).value == Fraction(7, 10)
    assert classroom(25, 100).value == 0
    assert classroom(75, 100).value == 1
    assert classroom(0, 100).value == Fraction(-1, 2)  # unbiased, so not clamped


def test_its_standard_error_is_about_one_over_the_root_of_the_people() -> None:
    """√(3/16 / n) / (1/2)."""
    assert classroom(60, 100).deviation ** 2 == pytest.approx(Fraction(3, 4) / 100)
    assert classroom(6000, 10_000).deviation * 10 == pytest.approx(classroom(60, 100).deviation)


def test_a_crowd_of_the_classroom_gives_the_same_estimate() -> None:
    client = Response(LN_3, 2)
    assert (client.odds.holder, client.odds.other) == (Fraction(3, 4), Fraction(1, 4))
    assert log(3).up <= client.privacy.epsilon < log(3).up + Fraction(1, 10**29)
    said = np.array([1] * 60 + [0] * 40, dtype=np.uint8)
    guess = client.estimate(client.tally(client.decode(client.encode(said))))
    assert guess[1] == classroom(60, 100)
    assert guess.counts.tolist() == [30.0, 70.0]
    assert guess.shares.tolist() == [0.3, 0.7]
    assert guess.errors[1] / 100 == pytest.approx(float(classroom(60, 100).deviation))


def test_a_classroom_of_people_is_estimated() -> None:
    """7000 of 10,000 have the truth yes: 3/4 of these say so, and 1/4 of the others. False alarm 1e-10, exactly."""
    client, lie = Response(LN_3, 2), Fraction(1, 4)
    guess = client.estimate(client.tally(client.batch([1] * 7000 + [0] * 3000, rng=Seeded(1))))
    assert usual(int(guess.supports[1]), of_coins((7000, 1 - lie), (3000, lie)))
    assert not usual(int(guess.supports[1]), of_coins((10_000, Fraction(1, 2))))
    assert guess.counts[1] == pytest.approx(2 * guess.supports[1] - 5000)
    assert guess.counts.sum() == pytest.approx(10_000)


@pytest.mark.parametrize(("choices", "width"), [(2, 1), (256, 1), (257, 2), (65536, 2), (65537, 4), ((1 << 31) - 1, 4)])
def test_a_report_is_as_short_as_whole_bytes_allow(choices: int, width: int) -> None:
    client = Response(Fraction(20), choices)
    assert client.form.itemsize == width
    assert len(client.encode(client.batch([choices - 1] * 3, rng=Seeded(2)))) == 3 * width
    assert client.encode(choices - 1) == (choices - 1).to_bytes(width, "little")
    if choices not in (256, 65536):
        with pytest.raises(Refusal, match="report 1 of 2"):
            client.decode(client.encode(0) + choices.to_bytes(width, "little"))


def test_nonsense_is_refused() -> None:
    for yes, people in ((-1, 10), (11, 10), (0, 0), (1.5, 10)):
        with pytest.raises(Refusal, match=r"yes|people"):
            classroom(yes, people)  # type: ignore[arg-type]
    with pytest.raises(Refusal, match="choices >= 2"):
        Response(Fraction(1), 1)
    with pytest.raises(Refusal, match="at most 2147483647 choices, got 2147483648"):
        Response(Fraction(1), 1 << 31)
    with pytest.raises(Refusal, match=r"a tally counts at most 2\^24 values, got 16777217 choices"):
        Response(Fraction(1), (1 << 24) + 1).tally(7)
    for kind in (float, str):
        with pytest.raises(Refusal, match="choices"):
            Response(Fraction(1), kind(3))  # type: ignore[arg-type]
