"""Pan-private distinct count: its law, its promise with an intruder, its error, and a memory that hides nothing."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from doubles import Seeded

from discreet.audit import audit
from discreet.errors import Refusal
from discreet.interval import exp
from discreet.noise import SECURE, Entropy
from discreet.privacy import Pure, Replace
from discreet.stream import PanPrivateDistinct
from discreet.stream.pan_private import Visits

ONE = PanPrivateDistinct(Fraction(1), Fraction(1, 2), 3)


def intruded(steps: Visits, /, *, rng: Entropy = SECURE) -> tuple[int, ...]:
    """The memory after the first step, and what is told in the end."""
    memory = seen = ONE.push(ONE.start(rng), steps[0], rng)
    for people in steps[1:]:
        memory = ONE.push(memory, people, rng)
    return (*map(int, seen), int(memory.sum()), int(ONE.told(memory, rng) * (1 - 2 * ONE.lie) + 3 * ONE.lie))


def told(steps: Visits, /, *, rng: Entropy = SECURE) -> tuple[int, ...]:
    """The same without what only a second intruder would see."""
    *seen, _, said = intruded(steps, rng=rng)
    return (*seen, said)


def test_a_bit_is_a_randomized_response() -> None:
    assert ONE.lie >= Fraction(1 / (math.e + 1)) - Fraction(1, 10**15)
    assert (1 - ONE.lie) / ONE.lie <= exp(Fraction(1)).low
    assert float((1 - ONE.lie) / ONE.lie) == pytest.approx(math.e)
    assert ONE.privacy == Pure(Fraction(3, 2))
    assert PanPrivateDistinct(1, Fraction(1, 2), 3, 4).privacy == Pure(3)  # type: ignore[arg-type]


def test_an_intruder_and_an_answer_tell_what_is_promised() -> None:
    pairs = [(pair.left, pair.right) for pair in ONE.pairs()]
    assert not audit(told, pairs, ONE.privacy, samples=800, alpha=Fraction(1, 10**9), rng=Seeded(1)).refuted


@pytest.mark.slow
def test_the_same_audit_would_notice_less_noise() -> None:
    pairs = [(pair.left, pair.right) for pair in ONE.pairs()]
    assert not audit(told, pairs, ONE.privacy, samples=20_000, alpha=Fraction(1, 10**9), rng=Seeded(2)).refuted
    assert audit(told, pairs, Pure(Fraction(2, 5)), samples=20_000, alpha=Fraction(1, 10**9), rng=Seeded(1)).refuted


def test_estimates_are_unbiased_and_within_their_error() -> None:
    """Of 400 estimates the mean is within 7 of its standard deviations: false alarm below 1e-9 (nearly normal)."""
    counter, rng = PanPrivateDistinct(Fraction(1), Fraction(1), 2_000), Seeded(3)
    steps = [range(500), range(250, 600), [7] * 30]
    said = np.array([float(counter(steps, rng=rng)) for _ in range(400)])
    spread = math.sqrt(2_000 * float(counter.lie * (1 - counter.lie)) + 2) / float(1 - 2 * counter.lie)
    assert abs(said.mean() - 600) <= 7 * spread / 20
    assert 0.7 * spread < said.std() < 1.3 * spread
    assert (np.abs(said - 600) <= counter.error("0.95")).mean() > 0.9
    assert counter.error("0.95") < 4 * spread


def test_who_was_not_declared_is_refused() -> None:
    for people in ([3], [-1]):
        with pytest.raises(Refusal, match="people are 0 to 2"):
            ONE([people])
    for wrong in (
        {"size": 0},
        {"epsilon_memory": 41},
        {"epsilon_memory": 0},
        {"epsilon_memory": "1e-20"},
        {"neighbours": Replace()},
    ):
        with pytest.raises(Refusal):
            PanPrivateDistinct(**{"epsilon_memory": 1, "epsilon_answer": 1, "size": 3, **wrong})  # type: ignore[arg-type]
