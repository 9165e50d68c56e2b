"""Visits in a memory that may be looked into: its law, its promise with intruders, its statistics and their errors."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from scipy.stats import binom

from discreet.audit import audit
from discreet.errors import Refusal
from discreet.interval_arithmetic import exp
from discreet.noise import SECURE, Entropy
from discreet.privacy import Pure
from discreet.stream import PanPrivateDistinct, PanPrivateVisits
from discreet.stream.pan_private import Visits

ONE = PanPrivateVisits(Fraction(1), Fraction(1, 2), 2, most=3)
SURE = PanPrivateVisits(Fraction(40), Fraction(400), 6, most=3)  # a lie has a chance of 1e-17, noise one of 1e-43


def test_without_noise_it_counts_visits_around_a_circle() -> None:
    """Nobody comes to 0; 1 comes once, 2 twice, 3 three times, 4 four times, 5 five times: of which four are lost."""
    steps = [[1, 2, 2, 3, 4, 5], [3, 3, 4, 4, 5, 5], [4, 5, 5]]
    told = SURE(steps, rng=Seeded(1))
    assert [round(each) for each in told] == [2, 2, 1, 1]
    for weights, true in (
        (SURE.exactly(2), 1),
        (SURE.at_least(2), 2),
        (SURE.at_least(0), 6),
        (SURE.cropped_mean(2), 1),
        (SURE.cropped_mean(3), Fraction(7, 6)),
    ):
        assert float(SURE.estimate(told, weights)) == pytest.approx(float(true), abs=1e-9)
    for refused in (SURE.exactly, SURE.at_least, SURE.cropped_mean):
        for times in (4, -1):
            with pytest.raises(Refusal):
                refused(times)


def test_a_number_is_a_randomized_response() -> None:
    told, lied = 1 - ONE.random + ONE.random / 4, ONE.random / 4
    assert told / lied <= exp(Fraction(1)).low
    assert float(told / lied) == pytest.approx(math.e)
    assert ONE.privacy == Pure(Fraction(3, 2))
    assert PanPrivateVisits(Fraction(1), Fraction(1, 2), 2, 3, 2, most=3).privacy == Pure(Fraction(7, 2))


def joint(visits: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """From the definition: the law of one number at each look; before each there are visits, after each a refresh."""
    noise = [ONE.random / 4 + (1 - ONE.random) * (step == 0) for step in range(4)]
    law: dict[tuple[tuple[int, ...], int], Fraction] = {((), at): noise[at] for at in range(4)}
    for came in visits:
        after: dict[tuple[tuple[int, ...], int], Fraction] = {}
        for (looks, at), chance in law.items():
            seen = (at + came) % 4
            for step in range(4):
                place = ((*looks, seen), (seen + step) % 4)
                after[place] = after.get(place, Fraction(0)) + chance * noise[step]
        law = after
    alone: dict[tuple[int, ...], Fraction] = {}
    for (looks, _), chance in law.items():
        alone[looks] = alone.get(looks, Fraction(0)) + chance
    return alone


@pytest.mark.parametrize("looks", [1, 2])
def test_looks_with_a_refresh_after_each_cost_their_price_and_no_more(looks: int) -> None:
    nobody, worst = joint((0,) * looks), Fraction(0)
    for visits in product(range(4), repeat=looks):
        law = joint(visits)
        worst = max(worst, *(max(law[seen] / nobody[seen], nobody[seen] / law[seen]) for seen in nobody))
    assert worst <= exp(Fraction(looks)).up
    assert float(worst) == pytest.approx(math.e**looks)  # nor is the promise wider than it needs to be


def seen_and_told(steps: Visits, /, *, rng: Entropy = SECURE) -> tuple[int, ...]:
    """The memory after the first step, and what is told in the end, in whole numbers."""
    memory = first = ONE.push(ONE.start(rng), steps[0], rng)
    for people in steps[1:]:
        memory = ONE.push(memory, people, rng)
    true = ONE.true_after(0)
    return (int(first.cells[-1]), *(int(each * true + 2 * (1 - true) / 4) for each in ONE.told(memory, rng)[:2]))


@pytest.mark.parametrize("samples", [800, pytest.param(20_000, marks=pytest.mark.slow)])
def test_an_intruder_and_an_answer_tell_what_is_promised(samples: int) -> None:
    pairs, rng = [(pair.left, pair.right) for pair in ONE.pairs()], Seeded(1)
    assert not audit(seen_and_told, pairs, ONE.privacy, samples=samples, alpha=Fraction(1, 10**9), rng=rng).refuted


@pytest.mark.slow
def test_the_same_audit_would_notice_less_noise() -> None:
    pairs, less = [(pair.left, pair.right) for pair in ONE.pairs()], Pure(Fraction(2, 5))
    assert audit(seen_and_told, pairs, less, samples=20_000, alpha=Fraction(1, 10**9), rng=Seeded(2)).refuted


@pytest.mark.parametrize("refreshed", [0, 1])
def test_estimates_are_unbiased_and_within_their_errors(refreshed: int) -> None:
    """1,000 people of whom 100 came once, 200 twice, 50 three times."""
    counter, rng = PanPrivateVisits(Fraction(2), Fraction(1), 1_000, intrusions=2, most=3), Seeded(3)
    said = []
    for _ in range(150):
        memory = counter.push(counter.start(rng), range(350), rng)
        for _ in range(refreshed):
            memory = counter.refresh(memory, rng)
        memory = counter.push(memory, [*range(250), *range(50)], rng)
        said.append(counter.told(memory, rng))
    for weights, true in (
        (counter.exactly(1), 100),
        (counter.at_least(2), 250),
        (counter.cropped_mean(2), Fraction(600, 1_000)),
        (counter.cropped_mean(3), Fraction(650, 1_000)),
    ):
        off = np.array([float(counter.estimate(told, weights) - true) for told in said])
        assert abs(off.mean()) <= 7 * off.std() / math.sqrt(len(off))
        assert (np.abs(off) <= counter.error(weights, "0.95", refreshed)).sum() >= binom.ppf(1e-10, len(off), 0.95)
        assert counter.error(weights, "0.95", refreshed) < 8 * off.std()


def follows(drawn: list[int], scale: float) -> bool:
    """Whether numbers have the discrete Laplace law: Dvoretzky, Kiefer & Wolfowitz, false alarm 1e-9."""
    q = math.exp(-1 / scale)
    law = {n: 1 - q ** (n + 1) / (1 + q) if n >= 0 else q**-n / (1 + q) for n in range(-30, 31)}
    gap = max(abs(sum(each <= n for each in drawn) / len(drawn) - chance) for n, chance in law.items())
    return gap <= math.sqrt(math.log(2 / 1e-9) / (2 * len(drawn)))


@pytest.mark.parametrize(("kind", "scale"), [(PanPrivateVisits, 4), (PanPrivateDistinct, 2)])
def test_the_noise_of_answers_follows_its_law_and_no_other(kind: Any, scale: int) -> None:  # noqa: ANN401
    """Of a memory without lies, at ε = 1/2 an answer."""
    more = {"most": 3} if kind is PanPrivateVisits else {}
    counter, rng = kind(Fraction(40), Fraction(1, 2), 6, **more), Seeded(9)
    memory = counter.start(rng)
    drawn: list[int] = []
    for _ in range(600):
        told = counter.told(memory, rng)
        drawn += [round(each) for each in (told[1:] if isinstance(told, tuple) else (told,))]
    assert follows(drawn, scale)
    assert not follows(drawn, scale / 2)
    assert not follows(drawn, scale * 2)


def test_odd_parameters_are_refused() -> None:
    for wrong in ({"most": 0}, {"most": 256}, {"size": 0}):
        given = {"epsilon_memory": Fraction(1), "epsilon_answer": Fraction(1), "size": 3, "most": 2, **wrong}
        with pytest.raises(Refusal):
            PanPrivateVisits(**given)  # type: ignore[arg-type]
    with pytest.raises(Refusal, match="people are 0 to 1"):
        ONE([[2]])
