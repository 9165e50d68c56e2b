"""The fast samplers: thresholds against independent arithmetic, and the branches that chance would not visit."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from doubles import Prefixed, Scripted, Seeded
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.noise import Entropy, gaussians, geometrics, laplaces, poissons
from discreet.noise import vector as law_module
from discreet.noise.inverse_cdf_sampler import START, Lookup, exp_enclosure
from discreet.noise.poisson import _Table
from discreet.noise.vector import Law


def _law(square: object, linear: object, log_width: int = 0, *, signed: bool = True) -> Law:
    return Law(Fraction(str(square)), Fraction(str(linear)), log_width, signed)


def _distribution(law: Law) -> list[mpmath.mpf]:
    """The proposal's distribution function over bins, from its definition, in 60 digits."""
    width = 1 << law.log_width
    square = mpmath.mpf(law.square.numerator) / law.square.denominator
    linear = mpmath.mpf(law.linear.numerator) / law.linear.denominator

    def phi(n: int) -> mpmath.mpf:
        return square * n * n + linear * n

    weights = []
    for first in (0, 1) if law.signed else (0,):
        weights += [width * mpmath.exp(-phi(first + h * width)) for h in range(law._bins)]
        end = first + law._bins * width
        weights.append(mpmath.exp(-phi(end)) / (1 - mpmath.exp(-(phi(end + 1) - phi(end)))))
    total = mpmath.fsum(weights)
    return [mpmath.fsum(weights[: j + 1]) / total for j in range(len(weights) - 1)]


@pytest.mark.parametrize(
    "law",
    [_law(0, "1/10"), _law(0, "3/7"), _law(0, "1/1000000", 16), _law("1/200", 0), _law("1/2000000000000", 0, 15),
     _law(0, "1/10", signed=False), _law("1/50", "1/3", 2), _law(0, 20)],
)  # fmt: skip
def test_thresholds_are_the_first_64_digits_of_the_distribution_function(law: Law) -> None:
    with mpmath.workdps(60):
        expected = [int(mpmath.floor(c * 2**64)) for c in _distribution(law)]
    assert law._lookup._thresholds.tolist() == expected


def test_every_16_digit_beginning_is_decided_right_or_left_open() -> None:
    law = _law(0, "1/10")
    every = np.arange(1 << 16, dtype=np.uint16)
    table = law._lookup._first
    lows = np.searchsorted(law._lookup._thresholds, every.astype(np.uint64) << np.uint64(48), side="left")
    highs = np.searchsorted(
        law._lookup._thresholds, (every.astype(np.uint64) << np.uint64(48)) | np.uint64((1 << 48) - 1), side="right"
    )
    decided = table >= 0
    assert (lows == highs)[decided].all()
    assert (table == lows)[decided].all()
    assert (lows != highs)[~decided].all()
    assert 0 < (~decided).sum() <= law._lookup._thresholds.size


def _coin_lookup() -> Lookup:
    """Two outcomes of weights 1 and e^−1."""
    return Lookup(lambda precision: [(1 << precision, 1 << precision), exp_enclosure(Fraction(1), precision)])


@pytest.mark.parametrize("agree", [64, 128, 192])
@pytest.mark.parametrize("side", [-1, 1])
def test_a_tie_is_settled_by_the_first_digit_that_differs(agree: int, side: int) -> None:
    with mpmath.workdps(120):
        digits = int(mpmath.floor(2 ** (agree + 64) / (1 + mpmath.exp(-1))))
    u = digits + side
    words = [(u >> (agree - 64 * i)) & ((1 << 64) - 1) for i in range(agree // 64 + 1)]
    first = words[0]
    script = [
        (first >> 48).to_bytes(2, "little"),
        ((first & ((1 << 48) - 1)) << 16).to_bytes(8, "little"),
        *(word.to_bytes(8, "little") for word in words[1:]),
    ]
    assert _coin_lookup().draw(1, Scripted(script)).tolist() == [0 if side < 0 else 1]


def test_enclosures_contain_the_exponential_and_are_narrow() -> None:
    for x in (Fraction(0), Fraction(1, 3), Fraction(10), Fraction(100, 7)):
        with mpmath.workdps(80):
            value = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) * 2**START
            low, high = exp_enclosure(x, START)
            assert low <= value <= high
            assert high - low <= 2


@pytest.mark.parametrize("law", [_law(0, "1/5", 3), _law("1/800", 0, 4)])
def test_tails_continue_the_law(law: Law) -> None:
    start, rng = 40, Seeded(11)
    kept = [n for n, keep in (law._beyond(start, rng) for _ in range(40_000)) if keep]
    assert len(kept) > 10_000
    weights = np.exp([float(law.phi(start) - law.phi(start + step)) for step in range(400)])
    seen = np.cumsum(np.bincount(np.array(kept) - start, minlength=400)) / len(kept)
    gap = np.abs(np.cumsum(weights) / weights.sum() - seen).max()
    assert gap < np.sqrt(np.log(2 / 1e-12) / (2 * len(kept)))  # Dvoretzky-Kiefer-Wolfowitz at 1e-12


@pytest.mark.parametrize(("side", "sign"), [(0, 1), (1, -1)])
def test_a_tail_proposal_is_placed_beyond_the_bins_with_its_sign(side: int, sign: int) -> None:
    law = _law(0, "1/50")
    tail = law._bins + side * (law._bins + 1)
    middle = int(law._lookup._thresholds[tail - 1]) + (1 << 49)  # the tail is wider than two 16-digit beginnings
    drawn = law.draw(1, Prefixed((middle >> 48).to_bytes(2, "little"), Seeded(5)))
    assert sign * drawn[0] >= law._starts[tail] == 255 + side


def test_poisson_thresholds_are_the_distribution_function() -> None:
    table = _Table(Fraction(7, 2))
    with mpmath.workdps(160):
        weights = [mpmath.mpf("3.5") ** n / mpmath.factorial(n) for n in range(table._last + 1)]
        weights[-1] /= 1 - mpmath.mpf("3.5") / (table._last + 1)
        total = mpmath.fsum(weights)
        expected = [int(mpmath.floor(mpmath.fsum(weights[: j + 1]) / total * 2**64)) for j in range(table._last)]
    assert table._lookup._thresholds.tolist() == expected
    assert [low for low, _ in table._exact_weights()] == [high for _, high in table._exact_weights()]
    exact = [Fraction(low) for low, _ in table._exact_weights()]
    assert exact[1] / exact[0] == Fraction(7, 2)


class _Extreme:
    """All digits of U are 1; every later request is answered by `value`."""

    def __init__(self, value: int) -> None:
        self._value = value

    def bits(self, count: int, /) -> int:
        return (1 << 64) - 1 if count == 64 else self._value

    def raw(self, count: int, /) -> bytes:
        return b"\xff" * count


def test_the_last_poisson_outcome_stands_for_itself_and_what_follows() -> None:
    table = _Table(Fraction(1))
    assert table.draw(1, _Extreme(table._last)).tolist() == [table._last]  # the coin to go further lands tails


@pytest.mark.parametrize("size", [0, 1, 7, 40_000])
def test_vectors_have_the_asked_size_and_type(size: int) -> None:
    for drawn in (laplaces(3, size), gaussians(9, size), geometrics(1, size), poissons(2, size), laplaces(10**6, size)):
        assert drawn.shape == (size,)
        assert drawn.dtype == np.int64


@pytest.mark.parametrize("scale", [Fraction(1, 2**10) / 2, 2**40 + 1])
def test_scales_beyond_the_proof_are_refused_by_value(scale: Fraction) -> None:
    with pytest.raises(Refusal, match=r"scale between .*got"):
        laplaces(scale, 1)
    with pytest.raises(Refusal, match=r"variance between .*got"):
        gaussians(Fraction(scale) ** 2, 1)
    with pytest.raises(Refusal, match=r"1/x between .*got"):
        geometrics(1 / Fraction(scale), 1)


def test_the_ends_of_the_range_are_accepted() -> None:
    assert not gaussians(Fraction(1, 2**20), 1000).any()  # fails with probability e^-500000
    assert not poissons(Fraction(1, 10**3000), 10).any()
    assert not laplaces(Fraction(1, 2**10), 1000).any()  # fails with probability e^-1000
    assert np.abs(laplaces(2**40, 1000)).max() > 2**40  # fails with probability (1 - e^-1)^1000
    assert np.abs(gaussians(2**80, 1000)).max() > 2**40


@pytest.mark.parametrize("size", [-1, 1.5, True])
def test_sizes_must_be_whole(size: object) -> None:
    with pytest.raises(Refusal, match="size"):
        laplaces(3, size)  # type: ignore[arg-type]


def test_refusals_of_astronomic_values_are_refusals() -> None:
    draws: list[Callable[[], object]] = [
        lambda: laplaces(10**400, 3),
        lambda: geometrics(Fraction(1, 10**400), 3),
        lambda: poissons(10**400, 3),
    ]
    for draw in draws:
        with pytest.raises(Refusal, match="expected"):
            draw()


@pytest.mark.parametrize("law", [Law(Fraction(1, 2 * 10**6), Fraction(0), 6), Law(Fraction(1, 999), Fraction(1, 7), 4)])
def test_a_place_in_a_bin_is_kept_by_its_own_weight(law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    """Less likely by exactly as much as the law falls from the beginning of the bin to there, in both arithmetics."""
    seen: list[tuple[NDArray[np.float64], Callable[[int], Fraction]]] = []

    def spy(rise: NDArray[np.float64], exact: Callable[[int], Fraction], *, rng: Entropy) -> NDArray[np.bool_]:  # noqa: ARG001
        seen.append((rise, exact))
        return np.ones(rise.size, dtype=np.bool_)

    monkeypatch.setattr(law_module, "flips_exp", spy)
    starts = np.arange(0, 40, dtype=np.int64) << law.log_width
    places, _ = law._place(starts, Seeded(33))
    ((rise, exact),) = seen
    assert np.unique(places - starts).size > 10
    for i, (start, place) in enumerate(zip(starts.tolist(), places.tolist(), strict=True)):
        fall = law.square * (place**2 - start**2) + law.linear * (place - start)
        assert exact(i) == fall
        assert rise[i] == pytest.approx(float(fall), rel=1e-15, abs=0)
