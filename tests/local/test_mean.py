"""Means: channels and unbiasedness by enumeration in rationals, then laws, errors and coverage of many people."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from covering import coverage
from doubles import Seeded
from local.laws import follows, singles
from numpy.typing import NDArray
from scipy import stats

from discreet.errors import Refusal
from discreet.interval_arithmetic import exp, log
from discreet.local import DuchiMean, HybridMean, MeanReporter, PiecewiseMean, Tally, VectorMean

LOST = Fraction(1, 10**9)
PRICES = ["0.000001", "0.01", "0.5", "0.62", "1", "3", "10", "20"]
KINDS: list[Any] = [DuchiMean, PiecewiseMean, HybridMean]


def dyadic(p: Fraction) -> bool:
    return p.denominator & (p.denominator - 1) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("digits", [1, 3])
@pytest.mark.parametrize("epsilon", PRICES)
def test_the_exact_loss_is_the_price(kind: Any, digits: int, epsilon: str) -> None:  # noqa: ANN401
    client = kind(Fraction(epsilon), digits=digits)
    channel, ends = client.channel(), (0, client.steps)
    most = exp(client.epsilon, 200).down
    for pair in combinations(range(client.steps + 1), 2):
        ratio = channel.ratio([pair])
        assert ratio is not None
        assert ratio <= most
    assert log(channel.ratio([ends])).down > client.epsilon - LOST
    assert all(dyadic(p) for row in channel.rows.values() for p in row.values())


@pytest.mark.parametrize("digits", [8, 16, 20])
@pytest.mark.parametrize("epsilon", PRICES)
def test_a_finer_grid_loses_as_little(epsilon: str, digits: int) -> None:
    client = PiecewiseMean(Fraction(epsilon), digits=digits)
    assert client.window * client.near + client.steps * client.far == 1
    assert client.near / client.far <= exp(client.epsilon, 200).down
    assert log(client.near / client.far).down > client.epsilon - LOST
    assert dyadic(client.near)
    assert dyadic(client.far)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
def test_every_report_is_an_unbiased_estimate_exactly(kind: Any, epsilon: str) -> None:  # noqa: ANN401
    """Through the wire, the tally and the estimator, each report weighed with its probability. Bounds 10 and 26."""
    client = kind(Fraction(epsilon), Fraction(10), Fraction(26), 3)
    guesses = {y: client.estimate(client.tally(client.decode(client.encode(y) * 2))).value for y in client.channel()[0]}
    for place, law in client.channel().rows.items():
        assert sum(p * guesses[y] for y, p in law.items()) == 10 + 2 * place
    low, high = client.reach
    assert (min(guesses.values()), max(guesses.values())) == (10 + 2 * low, 10 + 2 * high)


def square(kind: Any, epsilon: float, t: NDArray[np.float64]) -> NDArray[np.float64]:  # noqa: ANN401
    """The published variance of one report, for numbers in [−1, 1]."""
    e, s = math.exp(epsilon), math.exp(epsilon / 2)
    duchi = ((e + 1) / (e - 1)) ** 2 - t**2
    piecewise = t**2 / (s - 1) + (s + 3) / (3 * (s - 1) ** 2)
    share = 1 - 1 / s if epsilon > 0.61 else 0.0
    known = {DuchiMean: duchi, PiecewiseMean: piecewise, HybridMean: share * piecewise + (1 - share) * duchi}
    variance: NDArray[np.float64] = known[kind]
    return variance


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
def test_the_variance_of_a_report_is_the_published_one(kind: Any, epsilon: str) -> None:  # noqa: ANN401
    """On a grid of 128 steps, from the channel: within two hundredths."""
    client = kind(Fraction(epsilon), digits=7)
    channel, first = client.channel(), {}
    for y in channel[0]:
        total, _ = client.moments(1, client.sums(client.decode(client.encode(y))))
        first[y] = float(total) * float(client.step) - 1
    for place in (0, 40, 64, 128):
        t = float(place * client.step - 1)
        law = {y: float(p) for y, p in channel[place].items()}
        variance = sum(p * first[y] ** 2 for y, p in law.items()) - t**2
        assert variance == pytest.approx(float(square(kind, float(epsilon), np.array(t))), rel=0.02)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "epsilon", [pytest.param("0.5", marks=pytest.mark.slow), "1", pytest.param("3", marks=pytest.mark.slow)]
)
def test_reports_follow_the_channel_alone_and_together(kind: Any, epsilon: str) -> None:  # noqa: ANN401
    client, rng = kind(Fraction(epsilon), digits=3), Seeded(31)
    for place in (0, 3, 8):
        value, law = float(client.lower + place * client.step), client.channel()[place]
        alone = [client(value, rng=rng) for _ in range(3000)]
        together = singles(client.decode(client.encode(client.sample(value, 30_000, rng=rng))))
        assert follows(alone, law)
        assert follows(together, law)
        assert not follows(together, client.channel()[(place + 4) % 9])


SEEDS, GROUPS, PEOPLE = 40, 100, 200


@cache
def trials(kind: Callable[..., Any], epsilon: str) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """How far off the means of 100 groups are in each of 40 seeds, their standard errors, and the theory's square."""
    client = kind(Fraction(epsilon), digits=16)
    people = np.round(np.sin(np.arange(PEOPLE)) * 2**15) / 2**15  # on the grid
    misses, errors = [], []
    for seed in range(SEEDS):
        rng = Seeded(seed)
        reports = client.batch(np.tile(people, GROUPS), rng=rng).reshape(GROUPS, PEOPLE)
        for group in reports:
            guess = client.estimate(client.tally(group))
            misses.append(float(guess.value) - people.mean())
            errors.append(guess.error)
    theory = float(square(kind, float(epsilon), people).mean() / PEOPLE)
    return np.array(misses), np.array(errors), theory


CASES = [(DuchiMean, "1"), (PiecewiseMean, "3"), (HybridMean, "1"), (HybridMean, "3")]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "epsilon"), CASES)
def test_the_mean_squared_error_is_that_of_theory(kind: Any, epsilon: str) -> None:  # noqa: ANN401
    """A ratio of 4000 squares: its standard error is about 0.022."""
    misses, _, theory = trials(kind, epsilon)
    assert 0.9 <= np.mean(misses**2) / theory <= 1.1
    assert abs(misses.mean()) <= 5 * math.sqrt(theory / misses.size)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "epsilon"), CASES)
def test_standard_errors_cover(kind: Any, epsilon: str) -> None:  # noqa: ANN401
    """95.4 % within two, 68.3 % within one, for the people who reported; of a bit, whose people may differ, more."""
    misses, errors, _ = trials(kind, epsilon)
    more = 0.02 if kind is DuchiMean else 0.0
    assert 0.934 <= np.mean(np.abs(misses) <= 2 * errors) <= 0.974 + more
    assert 0.643 <= np.mean(np.abs(misses) <= errors) <= 0.723 + 2 * more


def test_the_hybrid_is_the_best_of_both() -> None:
    for epsilon in (0.3, 0.7, 1.0, 2.0, 5.0):
        worst = {kind: float(square(kind, epsilon, np.linspace(-1, 1, 201)).max()) for kind in KINDS}
        assert worst[HybridMean] <= min(worst[DuchiMean], worst[PiecewiseMean]) + 1e-9
    assert HybridMean(Fraction(61, 100)).share == 0
    assert HybridMean(Fraction(62, 100)).share > 0


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_put_on_the_grid(kind: Any) -> None:  # noqa: ANN401
    client: MeanReporter = kind(Fraction(1), Fraction(10), Fraction(20), 2)
    assert client.step == Fraction(5, 2)
    values = [10, 12.5, 13.7, 13.8, 20, 5, 99, float("inf"), -float("inf")]
    places = [0, 1, 1, 2, 4, 0, 4, 4, 0]
    assert client.place(values).tolist() == places
    assert client.place(np.array(values)).tolist() == places
    assert client.place([Fraction(value) if math.isfinite(value) else value for value in values]).tolist() == places
    assert client.place([10**400, Fraction(-(10**400))]).tolist() == [4, 0]
    for nothing in (None, "12", [12], float("nan")):
        for crowd in ([nothing], [12, nothing], np.array([12.0, np.nan])):
            with pytest.raises(Refusal, match="this answer is no number; nothing was sent or counted"):
                client.place(crowd)
    assert client.place(np.array([12, 20], dtype=np.uint8)).tolist() == [1, 4]
    assert client.place(np.array([1e308, -1e308])).tolist() == [4, 0]


def test_the_window_lies_inside_at_both_ends() -> None:
    """At ε = 20 a report is at the person's own place but for one in e^10: six of 1000 are not once in 10^11.

    No place is beyond the last.
    """
    client = PiecewiseMean(Fraction(20), digits=16)
    for value, first in ((-1, 0), (1, client.steps)):
        reports = client.sample(value, 1000, rng=Seeded(3)).astype(int)
        near = (reports >= first) & (reports < first + client.window)
        assert near.sum() >= 995
        assert reports.max() < client.places


PLACED = [
    (Fraction(1 << 60), Fraction((1 << 60) + 4), 2),
    (Fraction(-1), Fraction(1), 16),
    (Fraction(1, 10), Fraction(7, 10), 16),
    (Fraction(0), Fraction(1 << 17), 16),  # every odd number is in the middle of a step
    (Fraction(-3, 7), Fraction(10**6), 20),
    (Fraction(10**15), Fraction(10**15) + 1, 20),
    (Fraction(-(1 << 63)), Fraction((1 << 63) - 1), 20),
    (Fraction(-(10**300)), Fraction(10**300), 3),
    (Fraction(0), Fraction(1, 10**300), 20),
    (Fraction(1, 10**300), Fraction(3, 10**300), 1),
]


def near(lower: Fraction, upper: Fraction, digits: int) -> list[Fraction]:
    """Bounds, steps and middles of steps."""
    step = (upper - lower) / (1 << digits)
    some = [0, 1, 2, 3, 5, (1 << digits) // 3, (1 << digits) - 1, 1 << digits, -1, (1 << digits) + 1]
    return [lower + k * step / 2 for place in some for k in (2 * place, 2 * place + 1)]


@pytest.mark.parametrize(("lower", "upper", "digits"), PLACED)
def test_the_image_of_a_number_is_exact_and_does_not_depend_on_its_neighbours(
    lower: Fraction, upper: Fraction, digits: int
) -> None:
    client = DuchiMean(Fraction(1), lower, upper, digits)

    def image(number: Fraction) -> int:
        return max(0, min(client.steps, math.floor((number - lower) / client.step + Fraction(1, 2))))

    doubles = [float(number) for number in near(lower, upper, digits)]
    doubles += [float(np.nextafter(x, way)) for x in doubles for way in (-np.inf, np.inf)]
    whole = [n for number in near(lower, upper, digits) for n in (math.floor(number), math.ceil(number))]
    fit = [n for n in (*whole, 0, 1, -1, (1 << 63) - 1, -(1 << 63)) if -(1 << 63) <= n < 1 << 63]
    for numbers in (doubles, fit, whole):
        expected = [image(Fraction(number)) for number in numbers]
        assert client.place(numbers).tolist() == expected
        assert client.place([*numbers, lower - client.step]).tolist() == [*expected, 0]
        assert [int(client.place([number])[0]) for number in numbers] == expected
    assert client.place(np.array(fit)).tolist() == [image(Fraction(n)) for n in fit]
    unsigned = [n for n in (*whole, 0, 1, (1 << 64) - 1) if 0 <= n < 1 << 64]
    assert client.place(np.array(unsigned, dtype=np.uint64)).tolist() == [image(Fraction(n)) for n in unsigned]
    assert client.place(np.array([True, False])).tolist() == [image(Fraction(1)), image(Fraction(0))]
    single = np.array(doubles, dtype=np.float64)[np.abs(doubles) < 1e38].astype(np.float32)
    assert client.place(single).tolist() == [image(Fraction(x)) for x in single.tolist()]


def test_the_numbers_that_were_found_out() -> None:
    client = DuchiMean(Fraction(1), Fraction(1 << 60), Fraction((1 << 60) + 4), 2)
    for crowd in ([(1 << 60) + 3], np.array([(1 << 60) + 3]), [Fraction((1 << 60) + 3)]):
        assert client.place(crowd).tolist() == [3]
    assert client.place([(1 << 60) + 3, Fraction(0)]).tolist() == [3, 0]
    client = DuchiMean(Fraction(1), Fraction(1, 10), Fraction(7, 10), 16)
    middles = [float(Fraction(1, 10) + Fraction(2 * k + 1, 2) * client.step) for k in range(2000)]
    assert client.place(middles).tolist() == client.place([*middles, Fraction(1, 3)]).tolist()[:-1]


def test_what_is_not_finite_has_an_image() -> None:
    client = DuchiMean(Fraction(1), Fraction(-5), Fraction(5), 4)
    far = DuchiMean(Fraction(1), Fraction(10**299), Fraction(10**299) + 1, 4)
    with np.errstate(all="raise"):
        for one in (client, far):
            assert one.place([math.inf, -math.inf, 1.7e308, -1.7e308]).tolist() == [16, 0, 16, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_that_a_float_cannot_tell_apart_from_zero_are_refused(kind: Any) -> None:  # noqa: ANN401
    for lower, upper in ((0, Fraction(1, 10**400)), (1, 1 + Fraction(1, 10**301))):
        with pytest.raises(Refusal, match=r"expected lower and upper at least 1e-300 apart, got lower=.*another unit"):
            kind(Fraction(1), lower, upper)
    with pytest.raises(Refusal, match="at least 1e-300 apart"):
        VectorMean(Fraction(1), 2, Fraction(0), Fraction(1, 10**301))
    smallest = kind(Fraction(1), 0, Fraction(1, 10**300), 20)
    guess = smallest.estimate(smallest.tally(smallest.batch([0, 1e-300] * 50, rng=Seeded(1))))
    assert 0 < guess.error < 1e-298


@pytest.mark.parametrize("kind", KINDS)
def test_nonsense_is_refused(kind: Any) -> None:  # noqa: ANN401
    for fields in ({"lower": 1}, {"upper": -1}, {"upper": "x"}, {"lower": "-1e301"}, {"lower": float("nan")}):
        with pytest.raises(Refusal, match=r"lower|upper"):
            kind(Fraction(1), **fields)
    for digits in (0, 21, 1.5, None):
        with pytest.raises(Refusal, match="digits"):
            kind(Fraction(1), digits=digits)
    client = kind(Fraction(1))
    with pytest.raises(Refusal, match="only 1 reports"):
        client.estimate(client.tally(client.batch([0])))


def test_a_bit_is_a_bit_and_a_place_is_a_place() -> None:
    with pytest.raises(Refusal, match="report 1 of 2"):
        DuchiMean(Fraction(1)).decode(b"\1\2")
    piecewise = PiecewiseMean(Fraction(1), digits=3)
    assert piecewise.places == 8 + 5
    assert piecewise.decode(b"\x0c").tolist() == [12]
    with pytest.raises(Refusal, match="report 0 of 1"):
        piecewise.decode(b"\x0d")
    assert HybridMean(Fraction(1), digits=3).decode(b"\x00\x0e").tolist() == [0, 14]
    with pytest.raises(Refusal, match="report 0 of 1"):
        HybridMean(Fraction(1), digits=3).decode(b"\x0f")
    half = HybridMean(Fraction(1, 2), digits=3)
    assert half.share == 0
    assert half.decode(bytes([half.piecewise.places])).size == 1
    with pytest.raises(Refusal, match="report 0 of 1"):  # at so small an ε nobody sends a place
        half.decode(b"\x00")


def test_sums_of_the_largest_places_do_not_overflow() -> None:
    client = PiecewiseMean(Fraction(1, 100), digits=20)
    last = client.decode(client.encode(client.places - 1) * 1000)
    tally = client.tally(last)
    assert client.moments(1000, tally.counts) == (1000 * client.reach[1], 1000 * client.reach[1] ** 2)
    assert int(tally.counts.max()) < (1 << 63) * 1000 >> 40


@pytest.mark.parametrize("client", [*(kind(Fraction(1), digits=20) for kind in KINDS), VectorMean(Fraction(1), 9)])
def test_a_channel_on_a_fine_grid_is_not_written_down(client: Any) -> None:  # noqa: ANN401
    with pytest.raises(Refusal, match="is not written down; take fewer values or a coarser grid"):
        client.channel()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", ["0.000001", "0.5", "1", "4", "20"])
@pytest.mark.parametrize("digits", [1, 4])
def test_the_variance_of_a_report_is_that_of_its_channel(kind: Any, epsilon: str, digits: int) -> None:  # noqa: ANN401
    """By enumeration, in rationals."""
    client = kind(Fraction(epsilon), digits=digits)
    channel = client.channel()
    sent = [y for y in channel[0] if not client.strange(np.array([y]))[0]]
    guess = {y: client.moments(1, client.sums(client.decode(client.encode(y))))[0] for y in sent}
    for place, law in channel.rows.items():
        squares = sum(p * guess[y] ** 2 for y, p in law.items() if p)
        assert client.square(Fraction(place)) == squares
        assert client.variance(Fraction(place)) == squares - place**2 > 0


@pytest.mark.parametrize("epsilon", [1, 4, 10])
@pytest.mark.parametrize("people", [2, 5, 20, 200])
def test_a_bit_covers_the_mean_of_few_people_and_of_people_at_a_bound(epsilon: int, people: int) -> None:
    """Exactly, by the law of the ones. Where all bits were equal the error was zero: 0 % were covered at a bound."""
    client = DuchiMean(Fraction(epsilon), digits=16)
    ends = [client.estimate(Tally(client._label, people, np.array([ones]))).interval() for ones in range(people + 1)]
    for place in (0, 1 << 14, 1 << 15, 65_000, 1 << 16):
        chance = client.mechanism.lie + (client.mechanism.truth - client.mechanism.lie) * Fraction(place, 1 << 16)
        law = stats.binom.pmf(np.arange(people + 1), people, float(chance))
        true = float(-1 + place * client.step)
        assert sum(p for p, (low, high) in zip(law, ends, strict=True) if low <= true <= high) >= 0.95


@pytest.mark.parametrize("kind", [PiecewiseMean, HybridMean])
@pytest.mark.parametrize(("epsilon", "people"), [(4, 20), (10, 20), (10, 200)])
def test_reports_so_rare_that_none_came_are_in_the_error(kind: Any, epsilon: int, people: int) -> None:  # noqa: ANN401
    """At ε = 10 one report in 150 is far, and is most of the variance: 13 % of crowds of twenty were covered.

    Sixty crowds, by exact tails at 5e-10 for each of two truths; tests/laws counts them by the thousand.
    """
    client = kind(Fraction(epsilon))
    for true in (0.5, 1.0):
        crowd = np.full(people, true)
        ends = [client.estimate(client.tally(client.batch(crowd, rng=Seeded(seed)))).interval() for seed in range(60)]
        assert not coverage([true] * 60, ends).refuted(0.95, 5e-10)


def test_the_floor_of_the_error_vanishes_among_many() -> None:
    """Bits that all fell alike seem not to vary: two more people at either bound are there, and lost in a crowd."""
    client = DuchiMean(Fraction(1), digits=4)
    few, many = (client.estimate(Tally(client._label, n, np.array([n]))) for n in (10, 10**6))
    alone = client.variance(Fraction(client.steps)) ** Fraction(1, 2) * float(client.step)
    assert many.error == pytest.approx(alone / 1000, rel=1e-4)
    assert few.error > 1.05 * alone / 10**0.5
