"""The geometric mechanism on a range: its whole channel, its exact loss, its exact error."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st
from mechanisms.chances import covers, fits

from discreet.errors import Refusal
from discreet.interval_arithmetic import Interval, exp
from discreet.mechanisms.integer_noise import Geometric
from discreet.noise import laplace
from discreet.privacy import Pure

HAIR = Fraction(1, 10**50)


@given(st.integers(-20, 20), st.integers(0, 99))
def test_it_is_laplace_noise_clamped(value: int, seed: int) -> None:
    mechanism = Geometric(Fraction(3), -4, 9)
    inside = max(-4, min(9, value))
    assert mechanism(value, rng=Seeded(seed)) == max(-4, min(9, inside + laplace(3, rng=Seeded(seed))))


@pytest.mark.parametrize(("scale", "lower", "upper"), [("1", 0, 3), ("7/3", -2, 2), ("0.4", 5, 6)])
def test_the_law_is_that_of_the_clamped_noise(scale: str, lower: int, upper: int) -> None:
    mechanism, b = Geometric(Fraction(scale), lower, upper), exp(-1 / Fraction(scale))
    for value in range(lower, upper + 1):
        law, far = mechanism.law(value), 200
        clamped = {n: Interval.of(0) for n in range(lower, upper + 1)}
        for n in range(value - far, value + far + 1):
            end = max(lower, min(upper, n))
            clamped[end] = clamped[end] + (1 - b) / (1 + b) * exp(-Fraction(abs(n - value)) / Fraction(scale))
        assert law.keys() == clamped.keys()
        for n, chance in law.items():
            assert abs(chance.up - clamped[n].up) < Fraction(1, 10**30)
        assert abs(sum((p.up for p in law.values()), Fraction(-1))) < HAIR


def test_outputs_follow_the_law_and_no_other() -> None:
    mechanism, rng = Geometric.of(1, 0, 4), Seeded(18)
    seen = [mechanism(1, rng=rng) for _ in range(12_000)]
    assert fits(seen, {n: float(p.up) for n, p in mechanism.law(1).items()})
    for wrong in ("0.7", "1.3"):
        assert not fits(seen, {n: float(p.up) for n, p in Geometric.of(wrong, 0, 4).law(1).items()})


@pytest.mark.parametrize(("scale", "span", "sensitivity"), [("1", 5, 1), ("7/3", 6, 2), ("0.4", 1, 3)])
def test_the_exact_loss_is_its_price(scale: str, span: int, sensitivity: int) -> None:
    mechanism = Geometric(Fraction(scale), 0, span, sensitivity)
    laws = [mechanism.law(value) for value in range(span + 1)]
    worst = max(
        (
            (laws[a][n] / laws[b][n]).log()
            for a, b, n in product(range(span + 1), repeat=3)
            if abs(a - b) <= sensitivity
        ),
        key=lambda loss: loss.high,
    )
    price = min(span, sensitivity) / Fraction(scale)  # no two values are further apart than the range
    assert worst.down <= price <= worst.up
    assert mechanism.privacy == Pure(sensitivity / Fraction(scale))
    assert price <= mechanism.privacy.epsilon


@pytest.mark.parametrize("span", [1, 2, 3, 4, 5, 8, 20, 30])
@pytest.mark.parametrize("confidence", ["0.2", "0.5", "0.9", "0.95"])
def test_the_error_is_the_smallest_that_holds_for_every_value(span: int, confidence: str) -> None:
    mechanism = Geometric(Fraction(4), 10, 10 + span)
    bound = mechanism.error(confidence)

    def missing(alpha: int) -> Fraction:
        values = range(10, 11 + span)
        return max(sum((p.up for n, p in mechanism.law(v).items() if abs(n - v) > alpha), Fraction(0)) for v in values)

    assert missing(bound) <= 1 - Fraction(confidence)
    assert bound == 0 or missing(bound - 1) > 1 - Fraction(confidence)


@pytest.mark.parametrize("value", [0, 2, 10])
def test_the_error_covers(value: int) -> None:
    mechanism = Geometric.of("0.3", 0, 20)
    bound = mechanism.error("0.9")
    assert covers(lambda rng: abs(mechanism(value, rng=rng) - value) > bound, Fraction(9, 10), seed=19)


@given(st.integers(-50, 50), st.integers(1, 40), st.integers(1, 60))
def test_the_pairs_are_neighbours_in_the_range(lower: int, span: int, sensitivity: int) -> None:
    for pair in Geometric.of(1, lower, lower + span, sensitivity).pairs():
        assert lower <= pair.left < pair.right <= lower + span
        assert pair.right - pair.left == min(span, sensitivity)


def test_nonsense_is_refused_by_value() -> None:
    for nonsense in (0, -1, float("nan"), "x"):
        with pytest.raises(Refusal, match="scale"):
            Geometric(nonsense, 0, 1)  # type: ignore[arg-type]
        with pytest.raises(Refusal, match="epsilon"):
            Geometric.of(nonsense, 0, 1)
        with pytest.raises(Refusal, match="sensitivity"):
            Geometric.of(1, 0, 1, nonsense)  # type: ignore[arg-type]
    nonsenses: list[Any] = [float("nan"), 0.5, "x", None, True]
    for nonsense in nonsenses:
        with pytest.raises(Refusal, match="lower"):
            Geometric(Fraction(1), nonsense, 1)
        with pytest.raises(Refusal, match="upper"):
            Geometric(Fraction(1), 0, nonsense)
    with pytest.raises(Refusal, match="lower < upper, got lower=3 upper=3"):
        Geometric(Fraction(1), 3, 3)
