"""The noise has the size that was priced."""

from __future__ import annotations

import math
from fractions import Fraction

import clinic
import pytest
from covering import Coverage

from discreet.curator.measure import Group, measure
from discreet.curator.price import priced
from discreet.engines import Counted
from discreet.mechanisms import GaussianVector, LaplaceVector
from discreet.privacy import AddRemove, Approximate, Concentrated, Pure
from discreet.sql.split import question

RUNS = 3000


class Fixed:
    """An engine that always finds the same: a test double for what is read, not for the noise."""

    def __init__(self, counted: Counted) -> None:
        self._counted = counted

    def counted(self, _: object, /) -> Counted:
        return self._counted

    def distinct(self, _: object, __: object, /) -> dict[Group, int]:
        return {}

    def ranked(self, _: object, __: object, /) -> dict[Group, dict[int, int]]:
        return {}


def amount(loss: Pure | Approximate | Concentrated) -> float:
    """The ε or the ρ of a loss."""
    return float(loss.rho if isinstance(loss, Concentrated) else loss.epsilon)


def within(mechanism: object) -> tuple[int, float]:
    """A distance from 0, and the chance that a draw is no further by the law of integer noise."""
    if isinstance(mechanism, LaplaceVector):
        far, ratio = round(1.6 * mechanism.scale), math.exp(-1 / mechanism.scale)
        return far, 1 - 2 * ratio ** (far + 1) / (1 + ratio)
    assert isinstance(mechanism, GaussianVector)
    assert mechanism.variance > 1000  # so wide that sum and integral differ by less than 1e-4
    deviation = math.sqrt(mechanism.variance)
    far = round(1.5 * deviation)
    return far, math.erf((far + 0.5) / deviation / math.sqrt(2))


@pytest.mark.parametrize("loss", [Pure(1), Concentrated(Fraction(1, 2))])
def test_noise_has_the_theoretical_size_at_the_split(loss: Pure | Concentrated) -> None:
    """Fresh bits: false alarms 1e-9 a side (exact binomial); noise a sixth too large or too small is noticed."""
    parts = question("SELECT count(*), sum(cost), avg(cost) FROM visits", clinic.schema()).parts
    (price,) = priced(parts, loss, AddRemove("patient"))
    engine = Fixed(Counted({(): 0}, {(): (0,) * 4}))
    draws = [measure(price, engine).values[0] for _ in range(RUNS)]
    for column, charge in zip(zip(*draws, strict=True), price.charges, strict=True):
        far, chance = within(charge.mechanism)
        near = Coverage(sum(abs(draw) <= far for draw in column), RUNS)
        assert not near.refuted(chance), (charge, near)
        assert not near.exceeded(chance), (charge, near)
    shares = [amount(charge.mechanism.privacy) for charge in price.charges]
    assert sum(shares) == pytest.approx(1 if isinstance(loss, Pure) else 0.5)
