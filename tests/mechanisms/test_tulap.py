"""Tulap noise cell by cell: its law, the least cut that δ allows, its loss, its test, its error."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb
from typing import Any

import mpmath
import pytest
from doubles import Seeded
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanisms.chances import covers, fits

from discreet.errors import Refusal
from discreet.interval_arithmetic import Interval, exp
from discreet.mechanisms.tulap import Tulap
from discreet.privacy import AddRemove, Approximate

CASES = [
    ("0.5", "0", 1),
    ("1", "0.01", 1),
    ("0.5", "0.001", 2),
    ("2", "0.3", 3),
    ("0.01", "0.2", 2),
    ("0.2", "1e-6", 1),
]
EACH = pytest.mark.parametrize(("epsilon", "delta", "bits"), CASES)


@lru_cache
def cells(epsilon: str, bits: int, cut: int) -> dict[int, Interval]:
    """By definition: a discrete Laplace number and a uniform cell around it, given that they lie within the cut."""
    size, b = 1 << bits, exp(-Fraction(epsilon))
    mass = {
        cell: (1 - b) / (1 + b) * exp(-abs(n) * Fraction(epsilon)) / size
        for n in range(-(cut // size) - 2, cut // size + 3)
        for cell in range(n * size - size // 2, n * size + size // 2)
        if -cut <= cell < cut
    }
    total = sum(mass.values(), Interval.of(0))
    return {cell: p / total for cell, p in mass.items()}


def law(epsilon: str, delta: str, bits: int) -> dict[int, Interval]:
    cut = Tulap(epsilon, delta, bits).cut  # type: ignore[arg-type]
    return cells(epsilon, bits, cut or 200 << bits)


@EACH
def test_the_noise_follows_its_law_and_no_other(epsilon: str, delta: str, bits: int) -> None:
    mechanism, rng = Tulap(epsilon, delta, bits), Seeded(15)  # type: ignore[arg-type]
    drawn = [mechanism(3, rng=rng) for _ in range(6000)]
    assert all((y * (2 << bits)) % 2 == 1 for y in drawn)  # odd multiples of half a cell
    units = [math.floor(y - 3) for y in drawn]  # coarse enough to have power, with the cells' parts beside it
    parts = [math.floor((y - 3) * (1 << bits)) % (1 << bits) for y in drawn]
    true: dict[Any, float] = {}
    within: dict[Any, float] = {}
    for cell, p in law(epsilon, delta, bits).items():
        true[cell >> bits] = true.get(cell >> bits, 0) + float(p.up)
        within[cell % (1 << bits)] = within.get(cell % (1 << bits), 0) + float(p.up)
    assert fits(units, true)
    assert fits(parts, within)
    assert not fits([2 * unit for unit in units], true)


@pytest.mark.parametrize("bits", [32, 200, 256])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("1e-6", "1e-9"), ("1e-20", "1e-40"), ("20", "1e-12")])
def test_the_cut_is_at_most_two_cells_beyond_the_least_however_fine_the_grid(
    epsilon: str, delta: str, bits: int
) -> None:
    cut = Tulap(epsilon, delta, bits).cut  # type: ignore[arg-type]
    assert cut is not None
    with mpmath.workdps(300):
        b = mpmath.exp(-mpmath.mpf(epsilon))

        def lost(place: int) -> mpmath.mpf:
            """δ of the noise cut there: what lies within a unit of the end, of all that is kept."""
            t = mpmath.mpf(place) / 2**bits
            n = mpmath.floor(t + mpmath.mpf(1) / 2)
            beyond = (b ** (n + 1) + (n + mpmath.mpf(1) / 2 - t) * (1 - b) * b**n) / (1 + b)
            return beyond * (1 / b - 1) / (1 - 2 * beyond)

        assert lost(cut) <= mpmath.mpf(delta) < lost(cut - 2)


@EACH
def test_the_cut_is_the_first_that_delta_allows_and_the_loss_is_the_price(epsilon: str, delta: str, bits: int) -> None:
    mechanism = Tulap(epsilon, delta, bits)  # type: ignore[arg-type]
    assert mechanism.privacy == Approximate(epsilon, delta)

    def excess(cut: int) -> Interval:
        """The exact δ at ε, of counts that differ by one: Σ max(0, P(y) − e^ε Q(y))."""
        left, grow = cells(epsilon, bits, cut), exp(Fraction(epsilon))
        gaps = [p - grow * left.get(cell - (1 << bits), Interval.of(0)) for cell, p in left.items()]
        return sum((gap for gap in gaps if gap.high > Fraction(1, 10**40)), Interval.of(0))

    if mechanism.cut is None:
        assert Fraction(delta) == 0
        assert excess(40 << bits).high < Fraction(1, 10**5)  # only what the cut of this sum leaves out
    else:
        assert excess(mechanism.cut).low <= Fraction(delta)
        assert excess(mechanism.cut).high <= Fraction(delta) + Fraction(1, 10**40)
        assert excess(mechanism.cut - 1).low > Fraction(delta)


def test_without_delta_the_loss_is_pure() -> None:
    mass, size = cells("0.5", 1, 60), 2
    losses = [(p / mass[cell - size]).log() for cell, p in mass.items() if cell - size in mass]
    assert max(loss.up for loss in losses) <= Fraction(1, 2) + Fraction(1, 10**50)
    assert max(loss.down for loss in losses) >= Fraction(1, 2) - Fraction(1, 10**50)
    mechanism, seed = Tulap(Fraction(1, 2)), 3
    assert mechanism(7, rng=Seeded(seed)) - mechanism(0, rng=Seeded(seed)) == 7  # a shift of one law


@EACH
@pytest.mark.parametrize("confidence", ["0.1", "0.5", "0.9", "0.99"])
def test_the_error_is_the_smallest_on_the_grid(epsilon: str, delta: str, bits: int, confidence: str) -> None:
    mechanism = Tulap(epsilon, delta, bits)  # type: ignore[arg-type]
    bound = mechanism.error(confidence)

    def inside(alpha: Fraction) -> Fraction:
        size = 2 << bits
        masses = law(epsilon, delta, bits).items()
        return sum((p.up for cell, p in masses if abs(Fraction(2 * cell + 1, size)) <= alpha), Fraction(0))

    step = Fraction(1, 1 << bits)
    assert inside(bound) >= Fraction(confidence) - Fraction(1, 10**30)  # where it has no end, the sum leaves out e^-100
    assert bound == step / 2 or inside(bound - step) < Fraction(confidence)


@pytest.mark.parametrize("delta", ["0", "1e-4"])
@pytest.mark.parametrize("confidence", ["0.5", "0.95"])
def test_the_error_covers(delta: str, confidence: str) -> None:
    mechanism = Tulap("0.3", delta)  # type: ignore[arg-type]
    bound = mechanism.error(confidence)
    assert covers(lambda rng: abs(mechanism(0, rng=rng)) > bound, Fraction(confidence), seed=16)


def chance(x: int, n: int, theta: Fraction) -> Fraction:
    return comb(n, x) * theta**x * (1 - theta) ** (n - x)


@EACH
@pytest.mark.parametrize(("n", "theta"), [(1, "0.5"), (4, "0.3"), (6, "0.9")])
def test_the_p_value_is_the_chance_of_such_a_release_or_a_larger_one(
    epsilon: str, delta: str, bits: int, n: int, theta: str
) -> None:
    mechanism, size = Tulap(epsilon, delta, bits), 1 << bits  # type: ignore[arg-type]
    masses = law(epsilon, delta, bits)
    for released in (Fraction(2 * cell + 1, 2 * size) for cell in (-9 * size, -size, 0, size + 1, 3 * size, 12 * size)):
        tail = sum(
            (
                chance(x, n, Fraction(theta)) * p
                for x, (cell, p) in product(range(n + 1), masses.items())
                if x + Fraction(2 * cell + 1, 2 * size) >= released
            ),
            Interval.of(0),
        )
        p_value = mechanism.p_value(released, n, theta)
        assert tail.down - Fraction(1, 10**30) <= p_value
        assert p_value <= tail.up + Fraction(1, 10**15)


def test_the_test_keeps_its_level_and_finds_what_is_there() -> None:
    """Exactly, over all releases: Pr[p ≤ level] is at most the level where θ ≤ θ₀, and more above it."""
    mechanism, n, theta = Tulap(Fraction(1), Fraction(1, 100), 3), 8, Fraction(2, 5)
    masses = law("1", "0.01", 3)
    releases: dict[int, Fraction] = {}
    for released in {x * 8 + cell for x in range(n + 1) for cell in masses}:
        releases[released] = mechanism.p_value(Fraction(2 * released + 1, 16), n, theta)
    for level in (Fraction(1, 100), Fraction(1, 20), Fraction(1, 2)):
        rejected = {released for released, p in releases.items() if p <= level}
        power = {
            true: sum(
                chance(x, n, true) * p.up
                for x in range(n + 1)
                for cell, p in masses.items()
                if 8 * x + cell in rejected
            )
            for true in (Fraction(1, 5), theta, Fraction(4, 5))
        }
        assert power[Fraction(1, 5)] < power[theta] <= level < power[Fraction(4, 5)]
        assert power[theta] > level - Fraction(1, 10)  # and little is wasted: at most the mass of one cell


def continuous_tail(x: float, b: float) -> float:
    """Pr[N > x] of the continuous law, from its distribution function as published, by symmetry."""
    if x < 0:
        return 1 - continuous_tail(-x, b)
    near = math.floor(x + 0.5)
    return b**near / (1 + b) * (b + (near - x + 0.5) * (1 - b))


def test_a_fine_grid_gives_the_published_p_value() -> None:
    mechanism, b, n = Tulap(Fraction(1, 2)), math.exp(-0.5), 30
    for released in (-2.2, 9.7, 15.0, 21.3, 40.0):
        published = sum(comb(n, x) * 0.4**x * 0.6 ** (n - x) * continuous_tail(released - x, b) for x in range(n + 1))
        assert float(mechanism.p_value(released, n, "0.4")) == pytest.approx(published, rel=1e-8)


@given(st.integers(-30, 60).map(lambda n: Fraction(n, 3)), st.integers(1, 40))
@settings(max_examples=30)
def test_larger_releases_have_smaller_p_values_and_the_other_side_mirrors(released: Fraction, n: int) -> None:
    mechanism = Tulap(Fraction(1, 3), Fraction(1, 1000))
    p = mechanism.p_value(released, n, "0.3")
    assert mechanism.p_value(released + 1, n, "0.3") <= p <= 1
    assert mechanism.p_value(released, n, "0.5") >= p
    other = mechanism.p_value(n - released, n, "0.7")
    assert abs(p + other - 1) < Fraction(1, 10**8)  # but for the cell that both sides count


def test_nonsense_is_refused_by_value() -> None:
    for nonsense in (0, -1, float("nan"), 1001):
        with pytest.raises(Refusal, match="epsilon"):
            Tulap(nonsense)  # type: ignore[arg-type]
    for nonsense in (-1, 1, float("nan")):
        with pytest.raises(Refusal, match="delta"):
            Tulap(Fraction(1), nonsense)  # type: ignore[arg-type]
    for nonsense in (0, -3, 1.5, 1000):
        with pytest.raises(Refusal, match="bits"):
            Tulap(Fraction(1), Fraction(0), nonsense)  # type: ignore[arg-type]
    with pytest.raises(Refusal, match="public number of people"):
        Tulap(Fraction(1), neighbours=AddRemove()).p_value(1, 3, "0.5")
    mechanism = Tulap(Fraction(1))
    with pytest.raises(Refusal, match="theta0"):
        mechanism.p_value(1, 3, 0)
    with pytest.raises(Refusal, match="n >= 1"):
        mechanism.p_value(1, 0, "0.5")
    with pytest.raises(Refusal, match="released"):
        mechanism.p_value(float("nan"), 3, "0.5")
