"""Do the intervals of surveys cover, whoever answers what? Exactly where the law can be added up, else by counting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from covering import RUNS, Coverage, coverage
from doubles import Seeded
from numpy.typing import NDArray
from scipy import signal, stats

from discreet.desk.surveys import Outlook
from discreet.local import (
    DuchiMean,
    Frequencies,
    Hadamard,
    HybridMean,
    LocalHashing,
    OptimizedUnary,
    PiecewiseMean,
    Rappor,
    Response,
    SubsetSelection,
    SymmetricUnary,
    Tally,
    VectorMean,
)
from discreet.local.frequencies import Odds
from discreet.local.rappor_decoder import decode

pytestmark = pytest.mark.slow

Reals = NDArray[np.float64]
NORMAL = 2 * 1.959964  # standard errors between the ends of a 95 % interval
WIDE = 1.3
ESTIMATE = 0.2  # counts by which an exact interval reaches further on average, to hold the estimate

ORACLES: dict[str, Callable[[Fraction], Any]] = {
    "response of two": lambda epsilon: Response(epsilon, 2),
    "response of nine": lambda epsilon: Response(epsilon, 9),
    "symmetric": lambda epsilon: SymmetricUnary(epsilon, 9),
    "optimized": lambda epsilon: OptimizedUnary(epsilon, 9),
    "hashing": lambda epsilon: LocalHashing(epsilon, 9),
    "hadamard": lambda epsilon: Hadamard(epsilon, 9),
    "subset": lambda epsilon: SubsetSelection(epsilon, 9),
}
PRICES = ("0.1", "0.5", "1", "2", "4", "8")
oracles = pytest.mark.parametrize("kind", ORACLES.values(), ids=ORACLES)


# counts: exactly ------------------------------------------------------------------------------------------------------


def law_of_supports(odds: Odds, people: int, true: int) -> Reals:
    """How likely each number of reports supports a value that so many hold."""
    p, q = float(odds.holder), float(odds.other)
    own = stats.binom.pmf(np.arange(true + 1), true, p)
    others = stats.binom.pmf(np.arange(people - true + 1), people - true, q)
    return np.maximum(0, np.asarray(signal.convolve(own, others), np.float64))


def truths(people: int) -> list[int]:
    """Nobody, few, some, all but few and all."""
    if people <= 20:
        return list(range(people + 1))
    return sorted({0, 1, 2, 5, people // 10, people // 2, people - people // 10, people - 5, people - 1, people})


@oracles
@pytest.mark.parametrize("epsilon", PRICES)
@pytest.mark.parametrize("people", [5, 20, 100])
def test_intervals_of_counts_cover_exactly(kind: Any, epsilon: str, people: int) -> None:  # noqa: ANN401
    odds = kind(Fraction(epsilon)).odds
    low, high = Frequencies(people, np.arange(people + 1), odds).interval()
    for true in truths(people):
        law = law_of_supports(odds, people, true)
        assert law[(low <= true) & (true <= high)].sum() >= 0.95, true


@oracles
@pytest.mark.parametrize("epsilon", ["1", "4", "8"])
def test_intervals_of_many_peoples_counts_cover_exactly(kind: Any, epsilon: str) -> None:  # noqa: ANN401
    odds, people = kind(Fraction(epsilon)).odds, 10_000
    for true in (0, 5, 1_000, 9_995):
        law = law_of_supports(odds, people, true)
        near = np.flatnonzero(law > 1e-6)
        low, high = Frequencies(people, near, odds).interval()
        assert law[near[(low <= true) & (true <= high)]].sum() >= 0.95 - 1e-4, true


@cache
def inverted(odds: Odds, people: int) -> tuple[Reals, Reals]:
    """For each number of supports the least and the largest count of which neither tail is below 2.5 %."""
    low, high = np.full(people + 1, np.inf), np.full(people + 1, -np.inf)
    for true in range(people + 1):
        law = law_of_supports(odds, people, true)
        likely = (np.cumsum(law) > 0.025) & (np.cumsum(law[::-1])[::-1] > 0.025)
        low[likely], high[likely] = np.minimum(low[likely], true), np.maximum(high[likely], true)
    return low, high


@oracles
@pytest.mark.parametrize("epsilon", PRICES)
@pytest.mark.parametrize("people", [5, 20, 100])
def test_intervals_of_counts_are_hardly_wider_than_the_exact_inversion(kind: Any, epsilon: str, people: int) -> None:  # noqa: ANN401
    """Cut to what counts can be, and but for the estimate, which is in them."""
    odds = kind(Fraction(epsilon)).odds
    low, high = (np.clip(end, 0, people) for end in Frequencies(people, np.arange(people + 1), odds).interval())
    best = inverted(odds, people)
    known = np.isfinite(best[0])
    for true in truths(people):
        law = law_of_supports(odds, people, true)
        exact = (law * np.where(known, best[1] - best[0], 0)).sum()
        assert (law * (high - low)).sum() <= 1.01 * exact + ESTIMATE, true


@oracles
@pytest.mark.parametrize("people", [20, 60])
def test_the_exact_inversion_is_hardly_wider_than_any_interval_can_be(kind: Any, people: int) -> None:  # noqa: ANN401
    """By Pratt 1961: an interval that covers every count with 95 % holds, on average, each count as often as the best
    test of that count against the true one accepts it. That is for one true count, and by coins where laws are steps:
    no interval is so short for all of them, and where few counts are likely none comes near.
    """
    odds = kind(Fraction(1)).odds
    laws = np.array([law_of_supports(odds, people, true) for true in range(people + 1)])
    best = inverted(odds, people)
    width = np.where(np.isfinite(best[0]), best[1] - best[0], 0)
    for true in truths(people):
        mean = (laws[true] * width).sum()
        held = sum(1 - most_power(laws[other], laws[true], 0.05) for other in range(people + 1))
        assert mean <= 1.35 * (held - 1), true


def most_power(null: Reals, alternative: Reals, level: float) -> float:
    """How often the best test of one law rejects it where the other one is true (Neyman & Pearson 1933)."""
    order = np.argsort(-alternative / np.maximum(null, 1e-300), kind="stable")
    spent, gained = np.cumsum(null[order]), np.cumsum(alternative[order])
    last = int(np.searchsorted(spent, level))
    if last == len(null):
        return 1.0
    before, so_far = (spent[last - 1], gained[last - 1]) if last else (0.0, 0.0)
    return float(so_far + (level - before) * alternative[order][last] / max(null[order][last], 1e-300))


@oracles
@pytest.mark.parametrize("epsilon", ["0.1", "1", "2", "4"])
def test_intervals_of_many_peoples_counts_are_as_wide_as_the_normal_limit(kind: Any, epsilon: str) -> None:  # noqa: ANN401
    odds, people = kind(Fraction(epsilon)).odds, 10_000
    for true in (0, 100, 5_000, 10_000):
        law = law_of_supports(odds, people, true)
        near = np.flatnonzero(law > 1e-6)
        law, (low, high) = law[near], Frequencies(people, near, odds).interval()
        limit = NORMAL * float(people * odds.variance(Fraction(true, people))) ** 0.5
        assert (law * (high - low)).sum() <= WIDE * limit


@oracles
@pytest.mark.parametrize("people", [5, 20, 100, 10_000])
def test_the_error_that_is_promised_before_anybody_answers_covers(kind: Any, people: int) -> None:  # noqa: ANN401
    for epsilon in PRICES:
        client = kind(Fraction(epsilon))
        promised, odds = Outlook(client, people).error / 100 * people, client.odds
        counts = Frequencies(people, np.arange(people + 1), odds).counts
        for true in truths(people):
            law = law_of_supports(odds, people, true)
            assert law[np.abs(counts - true) <= promised].sum() >= 0.95, (epsilon, true)


def test_the_exact_test_would_refute_standard_errors() -> None:
    """Two to either side, as the pages drew them: where two of fifty hold a value, 72 % of crowds are covered."""
    odds = OptimizedUnary(Fraction(8), 9).odds
    guess = Frequencies(50, np.arange(51), odds)
    assert law_of_supports(odds, 50, 2)[np.abs(guess.counts - 2) <= 2 * guess.errors].sum() < 0.8


# counts: through the clients ------------------------------------------------------------------------------------------


@oracles
@pytest.mark.parametrize(("people", "true"), [(5, 0), (20, 0), (20, 10), (20, 20), (100, 3)])
def test_intervals_of_counts_cover_by_the_clients_themselves(kind: Any, people: int, true: int) -> None:  # noqa: ANN401
    client = kind(Fraction(1))
    held = np.where(np.arange(people) < true, 0, 1)
    reports = client.batch(np.tile(held, RUNS), rng=Seeded(people + true)).reshape(RUNS, people, *_shape(client))
    ends = [client.estimate(client.tally(some)).interval() for some in reports]
    counted = coverage([true] * RUNS, [(low[0], high[0]) for low, high in ends])
    assert not counted.refuted(0.95), counted


def _shape(client: Any) -> tuple[int, ...]:  # noqa: ANN401
    return client.form.subdtype[1] if client.form.subdtype else ()


# means ----------------------------------------------------------------------------------------------------------------


def crowds(people: int) -> Iterator[Reals]:
    """All at a bound, in the middle, and half at each bound."""
    yield np.full(people, -1.0)
    yield np.zeros(people)
    yield np.where(np.arange(people) % 2, 1.0, -1.0)


def counted(client: Any, crowd: Any, first: Callable[[Any], Any], true: float) -> Coverage:  # noqa: ANN401
    """Over independent crowds."""
    rng, people, ends = Seeded(len(crowd)), len(crowd), []
    at_once = max(1, 200_000 // people)
    for start in range(0, RUNS, at_once):
        many = min(at_once, RUNS - start)
        reports = client.batch(np.concatenate([crowd] * many), rng=rng).reshape(many, people, *_shape(client))
        ends += [first(client.estimate(client.tally(some))).interval() for some in reports]
    return coverage([true] * RUNS, ends)


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4", "10"])
@pytest.mark.parametrize("people", [2, 5, 20, 100, 10_000])
def test_intervals_of_bits_cover_exactly_and_are_the_exact_inversion(epsilon: str, people: int) -> None:
    """Whatever the numbers are, equal or not: of unlike bits by the law of two kinds of them."""
    client = DuchiMean(Fraction(epsilon))
    lie, gap = float(client.mechanism.lie), float(client.mechanism.truth - client.mechanism.lie)
    places = range(people + 1) if people < 10_000 else range(4500, 5500)
    ones = sorted({*range(min(people, 101)), *places, people})
    low, high = np.full(people + 1, np.inf), np.full(people + 1, -np.inf)
    for one in ones:
        low[one], high[one] = client.estimate(Tally(client._label, people, np.array([one]))).interval()
    for true in (-1.0, -0.5, 0.0):
        bits = lie + gap * (true + 1) / 2
        laws = [stats.binom.pmf(np.arange(people + 1), people, bits)]
        if people < 10_000:  # some at the upper bound, the others at the lower one
            up = round(people * (true + 1) / 2)
            laws += [law_of_supports(Odds(Fraction(lie + gap), Fraction(lie)), people, up)]
        means = [true, 2 * round(people * (true + 1) / 2) / people - 1]
        for law, mean in zip(laws, means, strict=False):
            near = law > 1e-12
            if people == 10_000 and not np.isfinite(low[near]).all():
                continue  # only some numbers of ones are worked out
            assert law[(low <= mean) & (mean <= high)].sum() >= 0.95 - 1e-9


@pytest.mark.parametrize("people", [20, 100])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
def test_intervals_of_bits_are_hardly_wider_than_the_normal_limit(epsilon: str, people: int) -> None:
    """Of people in the middle; near a bound at ε = 4 no exact interval can be."""
    client = DuchiMean(Fraction(epsilon))
    ends = [client.estimate(Tally(client._label, people, np.array([one]))).interval() for one in range(people + 1)]
    law = stats.binom.pmf(np.arange(people + 1), people, 0.5)
    deviation = float(client.variance(Fraction(client.steps, 2)) / people) ** 0.5 * float(client.step)
    assert sum(p * (high - low) for p, (low, high) in zip(law, ends, strict=True)) <= WIDE * NORMAL * deviation


@pytest.mark.parametrize("kind", [DuchiMean, PiecewiseMean, HybridMean])
@pytest.mark.parametrize(("epsilon", "people"), [("1", 5), ("10", 20), ("4", 100)])
def test_intervals_of_means_cover(kind: Any, epsilon: str, people: int) -> None:  # noqa: ANN401
    client = kind(Fraction(epsilon))
    for crowd in crowds(people):
        count = counted(client, crowd, lambda guess: guess, float(crowd.mean()))
        assert not count.refuted(0.95), (count, crowd[:2])
        if kind is not DuchiMean and people == 100:
            variance = sum(client.variance(Fraction(int(place))) for place in client.place(crowd)) / people**2
            assert count.width <= WIDE * NORMAL * float(variance) ** 0.5 * float(client.step)


@pytest.mark.parametrize("kind", [PiecewiseMean, HybridMean])
def test_intervals_of_many_peoples_means_cover_and_are_as_wide_as_the_normal_limit(kind: Any) -> None:  # noqa: ANN401
    client, crowd = kind(Fraction(4)), np.linspace(-1, 0.5, 1000)
    true = float(client.lower + client.step * Fraction(int(client.place(crowd).sum()), 1000))
    count = counted(client, crowd, lambda guess: guess, true)
    assert not count.refuted(0.95), count
    variance = sum(client.variance(Fraction(int(place))) for place in client.place(crowd)) / 1000**2
    assert count.width <= 1.1 * NORMAL * float(variance) ** 0.5 * float(client.step)


@pytest.mark.parametrize(("epsilon", "dimensions", "people"), [("0.5", 3, 20), ("4.9", 20, 30)])
def test_intervals_of_vectors_cover(epsilon: str, dimensions: int, people: int) -> None:
    client, size = VectorMean(Fraction(epsilon), dimensions), 6
    for crowd in crowds(people):
        rows = np.tile(np.repeat(crowd[:, None], dimensions, axis=1), (RUNS, 1))
        reports = client.batch(rows, rng=Seeded(people)).reshape(RUNS, people, *_shape(client))
        kept = [client.tally(some).counts[:size] for some in reports]  # of one coordinate
        ends = [client._estimate(people, row).interval() for row in kept]
        count = coverage([float(crowd.mean())] * RUNS, ends)
        assert not count.refuted(0.95), (count, crowd[:2])


def told_before(people: int, told_by: float, client: HybridMean) -> float:
    """The least mean width that intervals of a coordinate's mean can have, of people who are all in the middle.

    By Pratt 1961, as above: an interval that covers at 95 % whatever people are holds each other mean, on average, as
    often as the best test of some crowd with that mean accepts it. Three crowds are tried: all at that mean, some at a
    bound and the others in the middle, and all at either bound. Few of many tell a coordinate, so they are taken to be
    drawn anew each time. Where laws are normal no interval that is as long for
    every mean is shorter than 1.18 times this.
    """
    rows, middle, runs = client.channel().rows, client.steps // 2, 10_000
    laws = np.array([[float(rows[place][said]) for said in rows[0]] for place in range(client.steps + 1)])
    rng, held, truth = np.random.default_rng(people), [], laws[middle]
    tellers = rng.binomial(people, told_by, runs)
    for place in range(middle + 2, client.steps + 1, 4):
        mean = (place - middle) / middle
        mixed = (1 - mean) * truth + mean * laws[-1]
        crowds = laws[place], mixed, (1 + mean) / 2 * laws[-1] + (1 - mean) / 2 * laws[0]
        held.append(1 - min(_power(each, truth, tellers, rng) for each in crowds))
    return 2 * float(np.mean(held))


def _power(law: Reals, truth: Reals, tellers: NDArray[np.int64], rng: np.random.Generator) -> float:
    """How often the best test of people with this law rejects it, where the other is true."""
    likelier, scores = np.log(law / truth), []
    for each in (law, truth):
        said, total = rng.choice(law.size, size=int(tellers.sum()), p=each / each.sum()), np.zeros(tellers.size)
        np.add.at(total, np.repeat(np.arange(tellers.size), tellers), likelier[said])
        scores.append(total + rng.uniform(0, 1e-9, total.size))  # ties by coins
    return float((scores[1] <= np.quantile(scores[0], 0.05)).mean())


@pytest.mark.parametrize(("people", "dimensions"), [(100, 50), (300, 50), (1000, 50)])
def test_intervals_of_vectors_are_not_much_wider_than_any_can_be(people: int, dimensions: int) -> None:
    """Cut to what a mean can be. Of 100 people some two tell each of 50 coordinates: nearly nothing can be said."""
    client, rng = VectorMean(Fraction(1), dimensions), Seeded(people)
    widths: list[float] = []
    while len(widths) < 300:
        for guess in client.estimate(client.tally(client.batch(np.zeros((people, dimensions)), rng=rng))):
            low, high = guess.interval()
            widths.append(max(0.0, min(1.0, high) - max(-1.0, low)))
    coarse = HybridMean(Fraction(1), Fraction(-1), Fraction(1), 6)
    best = told_before(people, 1 / dimensions, coarse)
    assert float(np.mean(widths)) <= WIDE * 1.18 * best, (np.mean(widths), best)


# decoded bits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bits", "cohorts", "people", "share", "tested"),
    [(64, 4, 60, 0.95, 1), (16, 4, 60, 0.95, 2), (16, 4, 20, 0.95, 2), (16, 1, 20, 0.9, 1), (16, 4, 60, 0.05, 2)],
)
def test_intervals_of_decoded_texts_cover_at_extreme_odds(
    bits: int, cohorts: int, people: int, share: float, tested: int
) -> None:
    """Hardly any report errs, and nearly all hold one text: with the error at the estimate 81 to 92 % were covered."""
    truth, hits = {"a": share, "b": 1 - share}, 0
    for key in range(RUNS):
        client = Rappor(Fraction(20), bits, 2, cohorts, Fraction(0), Fraction(1), key)
        crowd = np.where(np.random.default_rng(key).random(people) < share, "a", "b")
        guess = decode(client, client.tally(client.batch(crowd, rng=Seeded(key))), ["a", "b"][:tested])
        hits += all(low <= truth[str(v)] <= high for v, low, high in zip(guess.values, *guess.interval(), strict=True))
    count = Coverage(hits, RUNS)
    assert not count.refuted(0.95), count
