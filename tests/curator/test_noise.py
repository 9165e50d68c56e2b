"""The noise has the size that was priced."""

from __future__ import annotations

from fractions import Fraction

import clinic
import numpy as np
import pytest

from discreet.curator.measure import Group, measure
from discreet.curator.price import priced
from discreet.engines import Counted
from discreet.privacy import AddRemove, Approximate, Concentrated, Pure
from discreet.sql.split import question


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


@pytest.mark.parametrize("loss", [Pure(1), Concentrated(Fraction(1, 2))])
def test_noise_has_the_theoretical_size_at_the_split(loss: Pure | Concentrated) -> None:
    parts = question("SELECT count(*), sum(cost), avg(cost) FROM visits", clinic.schema()).parts
    (price,) = priced(parts, loss, AddRemove("patient"))
    engine = Fixed(Counted({(): 0}, {(): (0,) * 4}))
    draws = np.array([measure(price, engine).values[0] for _ in range(6000)], dtype=np.float64)
    for column, charge in zip(draws.T, price.charges, strict=True):
        mechanism = charge.mechanism
        scale = float(getattr(mechanism, "scale", 0)) * 2**0.5 or float(getattr(mechanism, "variance", 0)) ** 0.5
        # the relative standard error of a standard deviation over 6000 draws is below 0.015; 5 % is over three of them
        assert column.std() == pytest.approx(scale, rel=0.05)
    shares = [amount(charge.mechanism.privacy) for charge in price.charges]
    assert sum(shares) == pytest.approx(1 if isinstance(loss, Pure) else 0.5)
