"""The readable samplers: their laws by following every string of bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from doubles import Seeded, enumerated

from discreet.errors import Refusal
from discreet.noise import Entropy, gaussian, geometric, laplace, poisson, skellam


def _geometric(x: Fraction) -> Callable[[int], float]:
    return lambda n: (1 - math.exp(-x)) * math.exp(-n * x) if n >= 0 else 0.0


def _laplace(scale: Fraction) -> Callable[[int], float]:
    q = math.exp(-1 / scale)
    return lambda n: (1 - q) / (1 + q) * q ** abs(n)


def _gaussian(variance: Fraction) -> Callable[[int], float]:
    total = sum(math.exp(-n * n / (2 * variance)) for n in range(-60, 61))
    return lambda n: math.exp(-n * n / (2 * variance)) / total


def _poisson(mean: Fraction) -> Callable[[int], float]:
    return lambda n: math.exp(-mean) * float(mean) ** n / math.factorial(n) if n >= 0 else 0.0


LAWS: list[tuple[Callable[[Entropy], int], Callable[[int], float]]] = [
    (lambda rng: geometric(1, rng=rng), _geometric(Fraction(1))),
    (lambda rng: geometric(Fraction(3, 2), rng=rng), _geometric(Fraction(3, 2))),
    (lambda rng: laplace(1, rng=rng), _laplace(Fraction(1))),
    (lambda rng: laplace(Fraction(1, 2), rng=rng), _laplace(Fraction(1, 2))),
    (lambda rng: laplace(Fraction(2, 3), rng=rng), _laplace(Fraction(2, 3))),
    (lambda rng: gaussian(Fraction(1, 2), rng=rng), _gaussian(Fraction(1, 2))),
    (lambda rng: gaussian(Fraction(1, 4), rng=rng), _gaussian(Fraction(1, 4))),
    (lambda rng: poisson(Fraction(1, 2), rng=rng), _poisson(Fraction(1, 2))),
    (lambda rng: poisson(Fraction(1, 3), rng=rng), _poisson(Fraction(1, 3))),
]


@pytest.mark.parametrize(("draw", "law"), LAWS)
def test_no_outcome_is_more_or_less_likely_than_its_law(
    draw: Callable[[Entropy], int], law: Callable[[int], float]
) -> None:
    mass, unresolved = enumerated(draw, 16)
    assert unresolved < Fraction(2, 3)
    for n in range(-4, 5):
        found = float(mass.get(n, 0))
        # strings still open will be shared in proportion, and each outcome keeps at least what it has
        assert found <= law(n) * (1 + 1e-12)
        assert law(n) <= found + float(unresolved)


@pytest.mark.parametrize("draw", [laplace, gaussian, geometric, poisson, skellam])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "many", True])
def test_nonsense_is_refused(draw: Callable[..., int], value: object) -> None:
    with pytest.raises(Refusal, match=r"scale|variance|x|mean"):
        draw(value, rng=Seeded(1))


def test_scales_of_any_size_are_accepted() -> None:
    assert abs(laplace(10**30)) > 10**20  # fails with probability 1e-10
    assert laplace(Fraction(1, 10**6)) == 0  # fails with probability e^-1000000
    assert abs(gaussian(10**60)) > 10**19  # fails with probability 1e-11
