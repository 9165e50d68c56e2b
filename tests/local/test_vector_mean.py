"""Vectors: channels by enumeration, laws and coverage of many people, and people who have no vector of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, repeat
from typing import Any

import numpy as np
import pytest
from covering import coverage
from doubles import Seeded
from local.laws import follows

from discreet.errors import Refusal
from discreet.interval_arithmetic import exp, log
from discreet.local import VectorMean

LOST = Fraction(1, 10**9)


@pytest.mark.parametrize(("epsilon", "dimensions", "told"), [(1, 3, 1), (5, 3, 2), (5, 1, 1), (20, 4, 4), (20, 100, 8)])
def test_a_report_tells_a_coordinate_for_each_two_and_a_half(epsilon: int, dimensions: int, told: int) -> None:
    client = VectorMean(Fraction(epsilon), dimensions, digits=8)
    assert client.told == told
    assert client.each.epsilon * told == epsilon
    reports = client.batch(np.zeros((500, dimensions)), rng=Seeded(4))
    assert reports.shape == (500, told)
    assert set(np.unique(reports["coordinate"])) == set(range(dimensions))
    assert client.form.itemsize == told * (1 + client.each.form.itemsize)


@pytest.mark.parametrize(("epsilon", "dimensions"), [("1", 2), ("1", 3), ("5", 2)])
def test_the_exact_loss_of_a_vector_is_its_price(epsilon: str, dimensions: int) -> None:
    client = VectorMean(Fraction(epsilon), dimensions, digits=1)
    channel = client.channel()
    ratio = channel.ratio(combinations(list(channel.rows), 2))
    assert ratio is not None
    assert ratio <= exp(client.epsilon, 200).down
    assert log(ratio).down > client.epsilon - LOST
    guesses = {
        y: [guess.value for guess in client.estimate(client.tally(client.decode(y * 2)))]
        for y in channel[(0,) * dimensions]
    }
    for places, law in channel.rows.items():
        mean = [sum(p * guesses[y][i] for y, p in law.items()) for i in range(dimensions)]
        assert mean == [place - 1 for place in places]  # exactly: steps of 1 from −1


@pytest.mark.parametrize(("epsilon", "dimensions"), [("1", 2), ("5", 2)])
@pytest.mark.slow
def test_reports_of_vectors_follow_the_channel_alone_and_together(epsilon: str, dimensions: int) -> None:
    client, rng = VectorMean(Fraction(epsilon), dimensions, digits=1), Seeded(12)
    value, places = (-1, 1), (0, 2)
    law = client.channel()[places]
    alone = [client(value, rng=rng) for _ in range(6000)]
    together = [row.tobytes() for row in client.batch(np.tile(value, (60_000, 1)), rng=rng)]
    assert follows(alone, law)
    assert follows(together, law)
    assert not follows(together, client.channel()[places[::-1]])


def test_coordinates_are_drawn_evenly() -> None:
    client = VectorMean(Fraction(10), 5, digits=1)
    assert client.told == 4
    told = client.batch(np.zeros((8_000, 5)), rng=Seeded(2))["coordinate"]
    left_out = (10 - told.sum(axis=1, dtype=np.int64)).tolist()
    assert follows(left_out, {i: Fraction(1, 5) for i in range(5)})


@pytest.mark.slow
def test_means_of_vectors_are_unbiased_and_covered() -> None:
    """Ten coordinates, 40 seeds: each mean within 5 standard errors of the truth, and 95 % of trials within two."""
    truth = np.linspace(-1, 1, 10)
    people = np.tile(np.round(truth * 2**15) / 2**15, (3000, 1))
    client = VectorMean(Fraction(5), 10)
    guesses = [client.estimate(client.tally(client.batch(people, rng=Seeded(seed)))) for seed in range(40)]
    misses = np.array([[float(guess.value) for guess in row] for row in guesses]) - people[0]
    errors = np.array([[guess.error for guess in row] for row in guesses])
    assert np.all(np.abs(misses.mean(axis=0)) <= 5 * np.sqrt((errors**2).mean(axis=0) / 40))
    assert np.mean(np.abs(misses) <= 2 * errors) == pytest.approx(0.954, abs=0.05)


def test_the_interval_of_a_coordinate_reaches_further_by_what_one_report_can_do() -> None:
    """1.96 standard errors, and (1.96² − 1)/6 of one report."""
    client = VectorMean(Fraction(5), 10)
    guess = client.estimate(client.tally(client.batch(np.zeros((300, 10)), rng=Seeded(1))))[3]
    off = guess.interval("0.95")[1] - float(guess.value)
    assert guess.error > 0
    assert off == pytest.approx(1.96 * guess.error + 0.4736 * guess.jump, rel=1e-4)


def test_a_mean_of_which_nobody_told_anything_has_an_error() -> None:
    """It was stated as the middle, give or take nothing. Of d/m people one tells it, so d/m times as uncertain."""
    client = VectorMean(Fraction(1), 1000)
    reports = client.batch(np.zeros((40, 1000)), rng=Seeded(1))
    silent = sorted(set(range(1000)) - set(reports["coordinate"].ravel().tolist()))
    guess = client.estimate(client.tally(reports))[silent[0]]
    assert guess.value == 0
    variance = float(client.each.variance(Fraction(0)) * client.each.step**2)  # it may be at a bound, 1 off the middle
    assert guess.error == pytest.approx(((1000 * variance + 999) / 40) ** 0.5)


@pytest.mark.parametrize("people", [25, 50, pytest.param(200, marks=pytest.mark.slow)])
def test_means_at_a_bound_are_covered_where_few_told_them(people: int) -> None:
    """Fifty coordinates: by 25 people half are told by nobody, and 39 % were covered; by 50, 63 %; by 200, 89 %.

    One of them in each of sixty crowds, by exact tails at 1e-9; where they are 200, in a thousand.
    """
    client, runs = VectorMean(Fraction("4.9"), 50), 1000 if people == 200 else 60
    crowds = [client.batch(np.ones((people, 50)), rng=Seeded(seed)) for seed in range(runs)]
    ends = [client.estimate(client.tally(crowd))[7].interval("0.95") for crowd in crowds]
    assert not coverage([1] * runs, ends).refuted(0.95)


@pytest.mark.parametrize("epsilon", [1, 10])
@pytest.mark.slow
def test_means_of_few_people_are_covered(epsilon: int) -> None:
    """Fifty people and twenty coordinates at 3/4: some are told by one or nobody. 88 % were covered at ε = 1.

    One coordinate in each of a thousand crowds, by exact tails at 1e-9.
    """
    client, people = VectorMean(Fraction(epsilon), 20), np.full((50, 20), 0.75)
    crowds = [client.batch(people, rng=Seeded(seed)) for seed in range(1000)]
    ends = [client.estimate(client.tally(crowd))[7].interval("0.95") for crowd in crowds]
    assert not coverage([0.75] * 1000, ends).refuted(0.95)


def test_a_person_has_as_many_numbers_as_there_are_dimensions() -> None:
    client = VectorMean(Fraction(20), 3, digits=4)
    assert client.told == 3
    crowds: list[Any] = [[(1, 1, 1)], np.array([[1.0, -1.0, 0.0]])]
    assert [client._truths(client._people(crowd)).tolist() for crowd in crowds] == [[[16, 16, 16]], [[16, 0, 8]]]
    wrong: list[Any] = [(1,), (1,) * 4, None, "111", 1, np.array(1.0), np.ones((2, 2)), repeat(1), stops_at_two()]
    for person in wrong:
        with pytest.raises(Refusal, match=r"expected 3 numbers of each person; nothing was sent|no number"):
            client.batch([(1, 1, 1), person])


def stops_at_two() -> Iterator[object]:
    yield from (1, 0)
    raise RuntimeError("no more")


@pytest.mark.parametrize(
    "person",
    [
        np.ma.masked,
        np.ma.array([1.0, 1.0, 1.0], mask=[False, True, False]),
        [np.array(1), 0, np.array(1, dtype="m8[ns]")],
        [[1, 2, 3], [1, 2, 3], 1],
        np.ones((3, 3)),
        (0, None, 1),
        (0, math.nan, 1),
    ],
)
def test_a_gap_in_a_persons_numbers_is_refused(person: object) -> None:
    client = VectorMean(Fraction(20), 3, digits=4)
    crowds: list[Any] = [[person], [(0, 0, 0), person]]
    for crowd in crowds:
        with pytest.raises(Refusal, match="nothing was sent or counted"):
            client.batch(crowd)
    assert client._truths(client._people([[np.array(1), 0, Fraction(1)]])).tolist() == [[16, 8, 16]]


def test_masked_rows_are_people_with_gaps() -> None:
    client = VectorMean(Fraction(20), 2, digits=4)
    array = np.ma.array([[1.0, 1.0], [0.0, 0.0]], mask=[[False, True], [False, False]])
    with pytest.raises(Refusal, match="this answer is no number"):
        client.batch(array)
    assert client._truths(client._people(array[1:])).tolist() == [[8, 8]]


@pytest.mark.parametrize("pairs", [[(0, 1), (0, 1)], [(1, 1), (0, 1)], [(0, 1), (3, 1)], [(0, 99), (1, 1)]])
def test_what_no_vector_sends_is_refused(pairs: list[tuple[int, int]]) -> None:
    client = VectorMean(Fraction(5), 3, digits=2)
    assert client.told == 2
    unit = client.form.subdtype[0]  # type: ignore[index]
    assert len(client.decode(np.array([(0, 1), (2, 1)], dtype=unit).tobytes())) == 1
    with pytest.raises(Refusal, match="report 0 of 1 is none that VectorMean sends"):
        client.decode(np.array(pairs, dtype=unit).tobytes())


def test_a_vector_of_nonsense_is_refused() -> None:
    for dimensions in (0, -1, 1.5, (1 << 16) + 1):
        with pytest.raises(Refusal, match="dimensions"):
            VectorMean(Fraction(1), dimensions)  # type: ignore[arg-type]
