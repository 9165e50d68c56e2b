"""Advice on caps and bounds: its shares cover at 95 %, and what it suggests fits the table that was asked about."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from covering import RUNS, Coverage, coverage
from doubles import Seeded

from discreet.curator.bounds_advice import (
    Bars,
    BoundsAdvice,
    CapsAdvice,
    advise_bounds,
    advise_caps,
    bounds_parts,
    caps_parts,
    most_rows,
    outer,
    ratio,
)
from discreet.curator.noisy_statistics import NoisyGroups
from discreet.curator.price import Priced, priced
from discreet.curator.purchase import BoughtTable
from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Table
from discreet.mechanisms import GaussianVector, LaplaceVector
from discreet.privacy import AddRemove, Concentrated, Pure

pytestmark = pytest.mark.slow

DECLARED = 3
VISITS = Table(
    "visits",
    (Column("patient", Type.BIGINT), Column("cost", Type.DOUBLE, (Fraction(0), Fraction(10)))),
    "patient",
    "patient",
    DECLARED,
)
_CHANCE = np.random.default_rng(1)
PEOPLE: dict[str, list[int]] = {  # how many rows each has
    "nobody over 8": [int(n) for n in _CHANCE.integers(1, 9, 2000)],
    "one each": [1] * 800,
    "heavy tail": [math.floor(u ** (-1 / 1.2)) for u in 1 - _CHANCE.random(3000)],
    "one giant": [2] * 600 + [900_000],
    "tiny": [1, 1, 2, 5, 9],
    "stairs": [2**place for place in range(18) for _ in range(60 - 3 * place)],
    "two crowds": [1] * 1000 + [100] * 900,
}


def noisy(price: Priced, counts: Sequence[Sequence[int]], rng: Seeded, wrong: int = 1) -> BoughtTable:
    """A table as it is bought, its noise `wrong` times as wide as it should be."""
    measurement = price.part.measurement
    columns = []
    for statistic, column in zip(measurement.statistics, zip(*counts, strict=True), strict=True):
        mechanism = price.charge(statistic).mechanism
        assert isinstance(mechanism, (LaplaceVector, GaussianVector))
        noise = mechanism(np.zeros(len(column), dtype=np.int64), rng=rng)
        columns.append([exact + wrong * int(more) for exact, more in zip(column, noise, strict=True)])
    groups = tuple((value,) for value in measurement.keys[0].values or ()) if measurement.keys else ((),)
    return BoughtTable(price, NoisyGroups(groups, tuple(zip(*columns, strict=True))), 1)


def bar(size: float) -> int:
    """The bar of a number, from the words that define it."""
    if abs(size) < 2**-20:
        return 0
    return int(math.copysign(min(61, 21 + math.floor(math.log2(abs(size)))), size))


def band(size: float) -> int | None:
    """The bar of a value, from the words that define it."""
    if math.isnan(size) or not size:
        return None if math.isnan(size) else 0
    if abs(size) <= 2**40:
        place = max(1, 20 + math.ceil(math.log2(abs(size))))
    else:
        place = 68 if math.isinf(size) else min(68, 60 + math.ceil((math.log2(abs(size)) - 40) / 8))
    return int(math.copysign(place, size))


def caps_runs(people: Sequence[int], price: Priced, seed: int, wrong: int = 1, runs: int = RUNS) -> list[CapsAdvice]:
    counted = Counter(bar(n * n) + (100 if n > DECLARED else 0) for n in people)
    values = price.part.measurement.keys[0].values or ()
    assert set(counted) <= set(values)
    exact, rng = [[counted[int(str(value))]] for value in values], Seeded(seed)
    return [advise_caps(noisy(price, exact, rng, wrong), DECLARED) for _ in range(runs)]


def share(people: Sequence[float], beyond: Callable[[float], bool]) -> float:
    return sum(map(beyond, people)) / len(people)


def outside_of(
    values: Sequence[float], low: Fraction, high: Fraction, known: dict[tuple[Fraction, Fraction], float]
) -> float:
    if (low, high) not in known:
        known[low, high] = share(values, lambda x: not float(low) <= x <= float(high))
    return known[low, high]


PRICES: dict[str, Pure | Concentrated] = {
    "0.1": Pure("0.1"),
    "0.5": Pure("0.5"),
    "2": Pure(2),
    "rho 0.1": Concentrated("0.1"),
}


CASES = [
    (name, paid)
    for name in PEOPLE
    for paid in PRICES
    if paid in {"0.5", "rho 0.1"} or name in {"tiny", "heavy tail", "stairs"}
]


@pytest.mark.parametrize(("name", "paid"), CASES)
def test_shares_of_people_cover_and_the_suggestion_fits(name: str, paid: str) -> None:
    people = PEOPLE[name]
    (price,) = priced(caps_parts(VISITS), PRICES[paid], AddRemove("patient"))
    runs = caps_runs(people, price, seed=len(people))
    cut = share(people, lambda n: n > DECLARED)
    told = [advice.cut for advice in runs if advice.cut is not None]
    covered = coverage([cut] * RUNS, [(each.low, each.high) for each in told])
    assert not covered.refuted(0.95), covered
    suggested = [advice for advice in runs if advice.rows is not None]
    shares = {most: share(people, lambda n, most=most: n > most) for most in {a.rows for a in suggested} if most}  # type: ignore[misc]
    truths = [shares[advice.rows] for advice in suggested if advice.rows is not None]
    spans = [(advice.beyond.low, advice.beyond.high) for advice in suggested if advice.beyond is not None]
    if suggested:
        held = coverage(truths, spans)
        assert not held.refuted(0.95), held
        largest = max(sorted(people)[:-1])  # the giant is one person, whom no mechanism shows
        ends = [most_rows(each) for each in range(21, 62)]
        too_far = next(end for end in ends if end >= largest)
        assert Coverage(sum(advice.rows <= too_far for advice in suggested if advice.rows), len(runs)).hits >= (
            len(suggested) - 0.005 * RUNS  # an empty bar stands out in one run of a thousand
        )


@pytest.mark.parametrize(("name", "least"), [("nobody over 8", 7), ("one each", 1), ("one giant", 2)])
def test_at_a_fair_price_the_suggestion_holds_nearly_everybody(name: str, least: int) -> None:
    (price,) = priced(caps_parts(VISITS), Pure("0.5"), AddRemove("patient"))
    rows = Counter(advice.rows for advice in caps_runs(PEOPLE[name], price, seed=5))
    right = sum(times for suggested, times in rows.items() if suggested is not None and least <= suggested <= 11)
    assert right >= 0.99 * RUNS, rows


def test_a_tiny_table_at_a_low_price_gives_no_suggestion() -> None:
    (price,) = priced(caps_parts(VISITS), Pure("0.1"), AddRemove("patient"))
    assert sum(advice.rows is None for advice in caps_runs(PEOPLE["tiny"], price, seed=6)) >= 0.99 * RUNS


def test_too_wide_a_noise_is_noticed() -> None:
    """The same statements under six times the noise do not cover: the test can fail."""
    (price,) = priced(caps_parts(VISITS), Pure(2), AddRemove("patient"))
    people = PEOPLE["nobody over 8"]
    runs = caps_runs(people, price, seed=7, wrong=6)
    cut = share(people, lambda n: n > DECLARED)
    covered = coverage([cut] * RUNS, [(a.cut.low, a.cut.high) for a in runs if a.cut is not None])
    assert covered.refuted(0.95), covered


VALUES: dict[str, list[float]] = {
    "within": [float(n) for n in _CHANCE.integers(1, 10, 3000)],
    "a tail": [float(x) for x in _CHANCE.lognormal(1, 1, 3000)],
    "both signs": [float(x) for x in _CHANCE.normal(0, 40, 3000)],
    "tiny": [3.0, 4.0, 500.0],
    "moments": [1.7e15 + float(x) for x in _CHANCE.integers(0, 10**14, 3000)],
    "dust": [float(x) for x in _CHANCE.normal(0, 1e-8, 3000)],
    "endless": [5.0] * 2000 + [math.inf] * 500 + [1e35] * 500,
    "stairs": [2.0**place for place in range(40) for _ in range(3 * place)],  # each bar stands out now and then
    "on both ends": [float(n) for n in _CHANCE.integers(-15, 16, 900)] + [16.0] * 60 + [-16.0] * 60,
}


@pytest.mark.parametrize("paid", ["0.5", "2"])
@pytest.mark.parametrize("name", VALUES)
def test_shares_of_values_cover(name: str, paid: str) -> None:
    values = VALUES[name]
    histogram, parts = priced(bounds_parts(VISITS, "cost"), PRICES[paid], AddRemove("patient"))
    counted, rng = Counter(map(band, values)), Seeded(len(name))
    exact = [[counted[int(str(value))]] for value in histogram.part.measurement.keys[0].values or ()]
    outside = sum(not 0 <= value <= 10 for value in values)
    runs: list[BoundsAdvice] = [
        advise_bounds(noisy(histogram, exact, rng), noisy(parts, [[outside, len(values)]], rng)) for _ in range(RUNS)
    ]
    cuts = [(advice.cut.low, advice.cut.high) for advice in runs if advice.cut is not None]
    covered = coverage([outside / len(values)] * RUNS, cuts)
    assert not covered.refuted(0.95), covered
    suggested = [(a.low, a.high, a.beyond) for a in runs if a.low is not None and a.high is not None and a.beyond]
    known: dict[tuple[Fraction, Fraction], float] = {}
    truths = [outside_of(values, low, high, known) for low, high, _ in suggested]
    if suggested:
        held = coverage(truths, [(told.low, told.high) for _, _, told in suggested])
        assert not held.refuted(0.95), held
        farthest = max(abs(outer(place)) for value in values if (place := band(value)) is not None and abs(place) < 68)
        beyond = sum(max(-low, high) > farthest for low, high, _ in suggested)
        assert beyond <= 0.005 * RUNS  # an empty bar stands out in one run of a thousand


@pytest.mark.parametrize(("name", "widest"), [("within", 1.25), ("a tail", 1.25), ("both signs", 1.7)])
def test_a_share_beyond_bounds_that_noise_chose_is_not_much_wider_than_if_they_had_been_named(
    name: str, widest: float
) -> None:
    """The best: the same sets, named beforehand. docs/proofs/intervals.md says what being chosen has to cost."""
    values = VALUES[name]
    histogram, _ = priced(bounds_parts(VISITS, "cost"), PRICES["0.5"], AddRemove("patient"))
    counted, rng = Counter(map(band, values)), Seeded(len(name))
    exact = [[counted[int(str(value))]] for value in histogram.part.measurement.keys[0].values or ()]
    told, best = 0.0, 0.0
    for _ in range(400):
        bought = noisy(histogram, exact, rng)
        advice, bars = advise_bounds(bought, None), Bars.of(bought)
        assert advice.low is not None
        assert advice.high is not None
        assert advice.beyond is not None
        inside = [bar for bar in bars.heights if advice.low <= outer(bar) <= advice.high and abs(bar) < 68]
        named = bars.beyond(lambda bar, inside=inside: bar not in inside)  # type: ignore[misc]
        told += advice.beyond.high - advice.beyond.low
        best += named.high - named.low
    assert told <= widest * best, told / best


def test_a_share_beyond_a_cap_that_noise_chose_is_not_much_wider_than_if_it_had_been_named() -> None:
    (price,) = priced(caps_parts(VISITS), PRICES["0.5"], AddRemove("patient"))
    people = PEOPLE["nobody over 8"]
    counted = Counter(bar(n * n) + (100 if n > DECLARED else 0) for n in people)
    exact = [[counted[int(str(value))]] for value in price.part.measurement.keys[0].values or ()]
    rng, told, best = Seeded(9), 0.0, 0.0
    for _ in range(400):
        bought = noisy(price, exact, rng)
        advice, bars = advise_caps(bought, DECLARED), Bars.of(bought)
        assert advice.rows is not None
        assert advice.beyond is not None
        limit = advice.rows
        named = bars.beyond(lambda bar, limit=limit: most_rows(bar % 100) > limit)  # type: ignore[misc]
        told += advice.beyond.high - advice.beyond.low
        best += named.high - named.low
    assert told <= 1.25 * best, told / best


WIDE = 1.3  # of the best possible


def spread(paid: str) -> float:
    """The variance of one noise, from the words that define it."""
    if paid == "rho 0.1":
        weights = [math.exp(-n * n / 10) for n in range(-60, 61)]
        return sum(n * n * weight for n, weight in zip(range(-60, 61), weights, strict=True)) / sum(weights)
    a = math.exp(-float(paid))
    return 2 * a / (1 - a) ** 2


@pytest.mark.parametrize("paid", PRICES)
@pytest.mark.parametrize("name", ["nobody over 8", "heavy tail", "two crowds"])
def test_a_share_of_people_is_hardly_wider_than_its_noise(name: str, paid: str) -> None:
    """The best: the noise of the share, as a normal number, 1.96 deviations either way."""
    people, (price,) = PEOPLE[name], priced(caps_parts(VISITS), PRICES[paid], AddRemove("patient"))
    told = [advice.cut for advice in caps_runs(people, price, seed=8, runs=400) if advice.cut is not None]
    cut, values = share(people, lambda n: n > DECLARED), price.part.measurement.keys[0].values or ()
    beyond = sum(int(str(value)) > 100 for value in values)
    variance = spread(paid) * ((1 - cut) ** 2 * beyond + cut**2 * (len(values) - beyond))
    best = 2 * 1.96 * math.sqrt(variance) / len(people)
    assert sum(each.high - each.low for each in told) / len(told) <= WIDE * best


@pytest.mark.parametrize("paid", ["0.1", "0.5", "rho 0.1"])
def test_a_share_of_values_is_hardly_wider_than_its_noise(paid: str) -> None:
    """Of two noises; the best as above, and for Laplace noise by its own law: that of a sum of two is not normal."""
    _, parts = priced(bounds_parts(VISITS, "cost"), PRICES[paid], AddRemove("patient"))
    outside, total, rng = 900, 3000, Seeded(3)
    charged = [parts.charge(statistic).mechanism for statistic in parts.part.measurement.statistics]
    noises = [noise for noise in charged if isinstance(noise, (LaplaceVector, GaussianVector))]
    drawn = [np.asarray(noise(np.zeros(200_000, dtype=np.int64), rng=rng)) for noise in noises]
    best = 2 * float(np.quantile(np.abs(drawn[0] - outside / total * drawn[1]), 0.95)) / total
    heights = zip(drawn[0][:400].tolist(), drawn[1][:400].tolist(), strict=True)
    told = [ratio(outside + one, total + two, noises) for one, two in heights]
    assert sum(each.high - each.low for each in told) / len(told) <= WIDE * best
