"""Shuffling against the exact laws of small crowds, and the published figures for a large one."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet.errors import Refusal
from discreet.privacy.amplify import Clones, Randomizer, binomial, chernoff, fair, shuffled, shuffled_delta, tail_ratio
from discreet.privacy.loss import AddRemove, Approximate, Guarantee, Pure, Replace

PERSON = Replace("person")


def local(epsilon: int | str | Fraction) -> Guarantee[Pure]:
    return Guarantee(Pure(epsilon), PERSON)


def dominating_delta(price: str, crowd: int, chance: Decimal, epsilon: str) -> Decimal:
    """The pair of laws, summed outcome by outcome: how many clones, and how many of the first kind."""
    q = Decimal(price).exp() / (1 + Decimal(price).exp())
    total = Decimal(0)
    for clones in range(crowd):
        there = math.comb(crowd - 1, clones) * chance**clones * (1 - chance) ** (crowd - 1 - clones)
        for first in range(clones + 2):
            less, same = (Decimal(math.comb(clones, n) if n >= 0 else 0) / 2**clones for n in (first - 1, first))
            p, other = q * less + (1 - q) * same, (1 - q) * less + q * same
            total += there * max(Decimal(0), p - Decimal(epsilon).exp() * other)
    return total


@pytest.mark.parametrize("price", ["0.1", "1", "3"])
@pytest.mark.parametrize("crowd", [1, 2, 3, 7, 40, pytest.param(90, marks=pytest.mark.slow)])
def test_the_bound_is_the_pair_of_laws(price: str, crowd: int) -> None:
    with localcontext(prec=60):
        chances = {"any": (-Decimal(price)).exp(), "binary": 2 / (1 + Decimal(price).exp())}
        for kind, chance in chances.items():
            clones = Clones(Fraction(price), crowd, Fraction(chance))
            for share in ("0", "0.01", "0.1", "0.5", "0.9"):
                epsilon = Decimal(price) * Decimal(share)
                exact = dominating_delta(price, crowd, chance, str(epsilon))
                bound = clones.delta_at(Fraction(epsilon))
                found = Decimal(bound.numerator) / Decimal(bound.denominator)
                assert exact <= found <= exact * (1 + Decimal("1e-9")) + Decimal("1e-18"), kind


def counts(bits: tuple[int, ...], truth: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The law of the number of ones after binary randomized response of everyone: all that shuffling leaves."""
    law = np.ones(1)
    for bit in bits:
        one = truth if bit else 1 - truth
        law = np.convolve(law, [1 - one, one])
    return law


@pytest.mark.parametrize("price", ["0.2", "1", "2"])
@pytest.mark.parametrize("crowd", [1, 2, 3, 5, 8, 40])
def test_shuffled_binary_response_keeps_the_promise(price: str, crowd: int) -> None:
    truth = 1 / (1 + math.exp(-float(price)))
    for ones, share in itertools.product({0, 1, crowd // 2, crowd - 1} & set(range(crowd)), (0.0, 0.1, 0.3, 0.7)):
        others = (1,) * ones + (0,) * (crowd - 1 - ones)
        mine, changed = counts((1, *others), truth), counts((0, *others), truth)
        epsilon = Fraction(price) * Fraction(str(share))
        exact = max(
            float(np.maximum(0, p - math.exp(epsilon) * q).sum()) for p, q in ((mine, changed), (changed, mine))
        )
        tight = float(shuffled_delta(local(price), crowd, epsilon, randomizer="binary"))
        assert exact <= tight * (1 + 1e-9) + 1e-15
        assert tight <= float(shuffled_delta(local(price), crowd, epsilon)) * (1 + 1e-9)


def test_the_binary_bound_is_nearly_what_the_crowd_loses() -> None:
    """Not vacuous: with half of the others at one, the real shuffled counts are within a factor of two of it."""
    truth, others = 1 / (1 + math.exp(-1.0)), (1,) * 20 + (0,) * 19
    mine, changed = counts((1, *others), truth), counts((0, *others), truth)
    exact = float(np.maximum(0, mine - math.exp(0.2) * changed).sum())
    bound = float(shuffled_delta(local(1), 40, "0.2", randomizer="binary"))
    assert exact <= bound <= 2 * exact


def multisets(values: tuple[int, ...], price: float, kinds: int) -> dict[tuple[int, ...], float]:
    """The law of the shuffled reports of k-ary randomized response."""
    truth = math.exp(price) / (math.exp(price) + kinds - 1)
    law: dict[tuple[int, ...], float] = defaultdict(float)
    for reports in itertools.product(range(kinds), repeat=len(values)):
        chance = 1.0
        for report, value in zip(reports, values, strict=True):
            chance *= truth if report == value else (1 - truth) / (kinds - 1)
        law[tuple(sorted(reports))] += chance
    return law


@pytest.mark.parametrize("price", ["0.5", "1.5"])
@pytest.mark.parametrize(("crowd", "kinds"), [(2, 3), (4, 3), (6, 3), (4, 5)])
def test_shuffled_response_over_more_values_keeps_the_general_promise(price: str, crowd: int, kinds: int) -> None:
    for others in {(2,) * (crowd - 1), tuple(n % kinds for n in range(crowd - 1)), (0,) * (crowd - 1)}:
        mine = multisets((0, *others), float(price), kinds)
        changed = multisets((1, *others), float(price), kinds)
        for share in ("0", "0.2", "0.5", "0.9"):
            epsilon = Fraction(price) * Fraction(share)
            exact = sum(max(0.0, p - math.exp(epsilon) * changed[o]) for o, p in mine.items())
            assert exact <= float(shuffled_delta(local(price), crowd, epsilon)) * (1 + 1e-9)


Rows = list[list[float]]


def histograms(rows: Rows, values: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The law of how often each report comes, if people with these values send what these rows say."""
    law = {(0,) * len(rows[0]): 1.0}
    for value in values:
        grown: dict[tuple[int, ...], float] = defaultdict(float)
        for seen, chance in law.items():
            for report, likely in enumerate(rows[value]):
                grown[(*seen[:report], seen[report] + 1, *seen[report + 1 :])] += chance * likely
        law = grown
    return law


def told(mine: dict[tuple[int, ...], float], changed: dict[tuple[int, ...], float], epsilon: float) -> float:
    """The hockey-stick divergence, in the worse order."""
    return max(
        sum(max(0.0, p - math.exp(epsilon) * b.get(seen, 0.0)) for seen, p in a.items())
        for a, b in ((mine, changed), (changed, mine))
    )


def rare(price: float) -> Rows:
    """Two values give themselves away rarely, a third one hardly ever, and mostly all send the same."""
    e, least = math.exp(price), 0.02
    return [[e * least, least, 1 - (e + 1) * least], [least, e * least, 1 - (e + 1) * least], [least, least, 0.96]]


def lopsided(price: float) -> Rows:
    """Responses of which one value is kept and the other thrown away: the two orders lose differently."""
    return [[math.exp(-price), 1 - math.exp(-price)], [math.exp(-2 * price), 1 - math.exp(-2 * price)], [0.5, 0.5]]


def hashed(price: float) -> Rows:
    """Local hashing: one of two functions, in the clear, and the randomized hash."""
    keep, functions = 1 / (1 + math.exp(-price)), ((0, 1, 1), (0, 0, 1))
    return [[(keep if h[v] == bit else 1 - keep) / 2 for h in functions for bit in (0, 1)] for v in range(3)]


@pytest.mark.parametrize("channel", [rare, lopsided, hashed])
@pytest.mark.parametrize("crowd", [1, 2, 5])
@pytest.mark.parametrize("price", ["0.1", "0.69", "1.5"])
def test_every_channel_keeps_the_promise_in_both_orders(
    channel: Callable[[float], Rows], crowd: int, price: str
) -> None:
    rows = channel(float(price))
    loss = max(math.log(a / b) for one in rows for other in rows for a, b in zip(one, other, strict=True))
    known = local(Fraction(loss) * (1 + Fraction(1, 10**12)))
    for other in range(3):
        others = (other,) * (crowd - 1)
        mine, changed = histograms(rows, (0, *others)), histograms(rows, (1, *others))
        for share in ("0", "0.1", "0.5", "0.95"):
            epsilon = known.loss.epsilon * Fraction(share)
            bound = float(shuffled_delta(known, crowd, epsilon))
            assert told(mine, changed, float(epsilon)) <= bound * (1 + 1e-9) + 1e-14


@pytest.mark.parametrize("channel", [rare, hashed])
def test_a_person_with_two_reports_has_the_promise_of_a_group(channel: Callable[[float], Rows]) -> None:
    rows, delta = channel(1.5), Fraction(1, 100)
    crowd = shuffled(local("1.5"), 6, delta=delta).loss.group(2)
    for others in ((2,) * 4, (0,) * 4, (1, 1, 2, 0)):
        mine, changed = histograms(rows, (0, 0, *others)), histograms(rows, (1, 1, *others))
        assert told(mine, changed, float(crowd.epsilon)) <= float(crowd.delta)


@pytest.mark.parametrize(("randomizer", "figure"), [("any", 0.0153), ("binary", 0.0124)])
def test_a_hundred_thousand_reports(randomizer: Randomizer, figure: float) -> None:
    found = shuffled(local(1), 100_000, delta="1e-6", randomizer=randomizer)
    assert float(found.loss.epsilon) == pytest.approx(figure, abs=5e-5)
    assert found.neighbours == PERSON
    assert shuffled_delta(local(1), 100_000, found.loss.epsilon, randomizer=randomizer) <= Fraction("1e-6")
    less = found.loss.epsilon * (1 - Fraction(1, 10**5))
    assert shuffled_delta(local(1), 100_000, less, randomizer=randomizer) > Fraction("1e-6")
    closed = math.log1p(math.tanh(0.5) * 8 * (math.sqrt(math.e * math.log(4e6) / 1e5) + math.e / 1e5))
    assert float(found.loss.epsilon) < closed  # Feldman, McMillan & Talwar 2021, Theorem 3.1: 0.0726


def test_more_reports_hide_more_and_shuffling_never_hurts() -> None:
    found = [shuffled(local(2), n, delta="1e-5").loss.epsilon for n in (1, 10, 100, 1000, 10_000)]
    assert found == sorted(found, reverse=True)
    assert found[0] <= 2
    assert found[-1] < found[0] / 10


def test_counts_of_clones_are_looked_at_one_by_one_or_each_stands_for_those_up_to_the_next() -> None:
    for crowd, single in ((2, True), (600, True), (700, False), (100_000, False)):
        clones = Clones(1.0, crowd, 0.5)
        counts = clones._counts
        assert (counts == list(range(counts[0], counts[0] + len(counts)))) == single
        assert len(counts) <= (640 if single else 160)
        assert sum(clones._chances) >= 1


def test_a_large_delta_needs_no_epsilon() -> None:
    assert shuffled(local("0.1"), 1000, delta="0.1").loss == Approximate(0, "0.1")


def test_without_a_price_nothing_is_lost() -> None:
    assert shuffled(local(0), 10, delta="1e-6").loss == Approximate(0, "1e-6")
    assert shuffled_delta(local(0), 10, 0) == 0


def test_a_hopeless_price_stays_what_it_is() -> None:
    assert shuffled(local(60), 10, delta="1e-6").loss == Approximate(60, "1e-6")


@pytest.mark.parametrize(
    ("tosses", "heads"), [(10, 5), (33, 20), (1000, 560), (1001, 1000), (1001, 501), (3001, 2), (36_787, 18_793)]
)
def test_the_fair_coin_is_enclosed_from_above(tosses: int, heads: int) -> None:
    ratio = fair(heads, tosses) * 2**tosses / math.comb(tosses, heads)
    assert 1 <= ratio < 1 + Fraction(1, 10**15) or fair(heads, tosses) <= Fraction(1, 10**290) < ratio or heads > 900


@pytest.mark.parametrize(("tosses", "likely"), [(1200, range(30, 50)), (1500, range(95, 115)), (3000, range(535, 555))])
def test_the_fair_coin_is_enclosed_from_above_where_floats_end(tosses: int, likely: range) -> None:
    """On either side of 10^-290, where a constant takes over: it must not stand for anything larger."""
    true = {heads: Fraction(math.comb(tosses, heads), 1 << tosses) for heads in likely}
    assert min(true.values()) < Fraction(1, 10**290) < Fraction(1, 10**286) < max(true.values())
    assert all(fair(heads, tosses) >= chance for heads, chance in true.items())


@pytest.mark.parametrize(("tosses", "first"), [(1, 1), (10, 6), (33, 20), (1000, 501), (2001, 1050)])
def test_the_tail_is_enclosed_from_below(tosses: int, first: int) -> None:
    exact = Fraction(sum(math.comb(tosses, n) for n in range(first, tosses + 1)), math.comb(tosses, first - 1))
    assert exact * (1 - Fraction(1, 10**9)) < tail_ratio(first, tosses) <= exact


def test_counts_of_clones_are_enclosed_from_above() -> None:
    trials, p = 1000, Fraction(37, 100)
    exact = [math.comb(trials, n) * p**n * (1 - p) ** (trials - n) for n in range(trials + 1)]
    inside = sum(exact[300:451])
    for law, bound in zip(exact[300:451], binomial(300, 450, trials, p), strict=True):
        assert law / inside <= Fraction(float(bound)) <= law / inside * (1 + Fraction(1, 10**11))
    assert sum(exact[:301]) <= chernoff(300, trials, p) <= 20 * sum(exact[:301])
    assert sum(exact[450:]) <= chernoff(450, trials, p) <= 20 * sum(exact[450:])


def likely(heads: int, tosses: int) -> mpmath.mpf:
    """Pr[Binomial(tosses, ½) = heads] to about 40 digits."""
    ways = mpmath.loggamma(tosses + 1) - mpmath.loggamma(heads + 1) - mpmath.loggamma(tosses - heads + 1)
    return mpmath.exp(ways - tosses * mpmath.log(2))


def tail(heads: int, tosses: int) -> mpmath.mpf:
    """Pr[Binomial(tosses, ½) ≥ heads], from Gauss's continued fraction: far above the mean 600 steps are plenty."""
    first, second, whole = mpmath.mpf(heads - tosses), mpmath.mpf(heads + 1), mpmath.mpf(1)
    for m in range(600, 0, -1):
        whole = 1 + m * (second - first + m - 1) / ((second + 2 * m - 2) * (second + 2 * m - 1)) / whole
        whole = 1 + (first + m - 1) * (second + m - 2) / ((second + 2 * m - 3) * (second + 2 * m - 2)) / whole
    return likely(heads, tosses) / whole


@pytest.mark.parametrize(
    ("tosses", "heads"), [(984, 940), (973_440, 503_839), (99_916_581, 50_131_762), (999_937_367, 500_462_816)]
)
def test_the_fair_coin_is_right_far_out_in_the_largest_crowds(tosses: int, heads: int) -> None:
    with mpmath.workdps(50):
        above, below = fair(heads, tosses), tail_ratio(heads, tosses)
        ratio = mpmath.mpf(above.numerator) / above.denominator / likely(heads, tosses)
        assert 0 <= ratio - 1 < 1e-15
        rest = mpmath.mpf(below.numerator) / below.denominator / (tail(heads, tosses) / likely(heads - 1, tosses))
        assert -1e-9 < rest - 1 <= 0


@pytest.mark.parametrize("deviations", [12, 24, 35])
def test_the_bound_holds_at_the_smallest_deltas_of_the_largest_crowd(deviations: int) -> None:
    """With nearly all of 10^9 reports clones, nothing but what is granted to rounding is left above the truth."""
    crowd, price = 10**9, 1e-10
    chance = math.nextafter(math.exp(-price), 0.0)
    epsilon = price * deviations / math.sqrt(crowd)
    found = Clones(price, crowd, chance).delta_at(epsilon)
    with mpmath.workdps(50):
        q, e = 1 / (1 + mpmath.exp(-mpmath.mpf(price))), mpmath.exp(mpmath.mpf(epsilon))
        t = (1 + mpmath.tanh(mpmath.mpf(epsilon) / 2) / mpmath.tanh(mpmath.mpf(price) / 2)) / 2
        true, p = mpmath.mpf(0), mpmath.mpf(chance)
        for fewer in range(12):  # clones than there may be: a tenth of one on average
            c = crowd - 1 - fewer
            a = int(mpmath.floor(t * (c + 1))) + 1
            there = mpmath.binomial(crowd - 1, fewer) * (1 - p) ** fewer * p**c
            true += there * ((q - e * (1 - q)) * likely(a - 1, c) - (e - 1) * tail(a, c))
        assert true <= mpmath.mpf(found.numerator) / found.denominator <= true * (1 + 4e-9 * deviations**2)


def test_beyond_the_largest_crowd_more_reports_are_not_counted_on() -> None:
    largest = shuffled(local(1), 10**9, delta="1e-9")
    assert shuffled(local(1), 10**12, delta="1e-9") == largest
    assert shuffled(local(1), 10**9 // 2, delta="1e-9").loss.epsilon > largest.loss.epsilon


def test_few_clones_are_not_forgotten_where_they_are_all_that_counts() -> None:
    """Near ε₀ of many reports the divergence is that of few clones: fewer than any that δ is worked out for.

    A part of the sum over all outcomes is at most the whole, and that part alone is far above what is looked at.
    """
    price, crowd, chance, epsilon = Decimal(3), 25_000, Decimal("0.05"), Decimal("2.9")
    clones = Clones(Fraction(3), crowd, Fraction("0.05"), looks=1000)
    found = clones.delta_at(Fraction("2.9"))
    with localcontext(prec=60):
        q, most, part = price.exp() / (1 + price.exp()), epsilon.exp(), Decimal(0)
        for few in range(560, 680):
            there = math.comb(crowd - 1, few) * chance**few * (1 - chance) ** (crowd - 1 - few)
            for first in range(few - 10, few + 2):  # with fewer of the first kind neither law is likelier by so much
                less, same = (Decimal(math.comb(few, n)) / 2**few for n in (first - 1, first))
                part += there * max(Decimal(0), q * less + (1 - q) * same - most * ((1 - q) * less + q * same))
        assert part <= Decimal(found.numerator) / Decimal(found.denominator)


@pytest.mark.parametrize(("crowd", "chance"), [(100_000, 0.3), (2000, 0.9), (2000, 0.01)])
def test_what_lies_outside_the_window_is_added(crowd: int, chance: float) -> None:
    """On both sides of it, below it alone, and above it alone."""
    clones = Clones(1.0, crowd, chance, looks=crowd)  # every count is looked at
    fewer = stats.binom.cdf(clones._counts[0] - 1, crowd - 1, chance)
    more = stats.binom.sf(clones._counts[-1], crowd - 1, chance)
    assert (fewer > 0, more > 0) == (chance > 0.01, chance < 0.9)
    assert fewer + more <= clones._unseen < 1e-20


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: shuffled(Guarantee(Pure(1), AddRemove("person")), 10, delta="0.1"), "replacing its person's value"),
        (lambda: shuffled(local(1), 0, delta="0.1"), "reports=0"),
        (lambda: shuffled(local(1), 10, delta=0), "delta=0"),
        (lambda: shuffled(local(1), 10, delta=1), "delta=1"),
        (lambda: shuffled_delta(local(1), 10, -1), "epsilon=-1"),
        (lambda: shuffled(local(1), 10, delta="0.1", randomizer="ternary"), "ternary"),  # type: ignore[arg-type]
    ],
)
def test_nonsense_is_refused_by_name(build: Callable[[], object], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        build()


@pytest.mark.parametrize("crowd", [1, 17])
@pytest.mark.parametrize("randomizer", ["any", "binary"])
def test_the_smallest_price_has_an_epsilon_between_nothing_and_itself(crowd: int, randomizer: Randomizer) -> None:
    price, delta = Fraction(1, 10**12), Fraction(1, 10**15)
    found = shuffled(local(price), crowd, delta=delta, randomizer=randomizer).loss
    assert 0 < found.epsilon < price  # the root lay below what was taken for 0, and the search for it never ended
    assert shuffled_delta(local(price), crowd, found.epsilon, randomizer=randomizer) <= delta
