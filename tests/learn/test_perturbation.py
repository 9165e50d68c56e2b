"""How much noise a fit has, by its proof page in floats: methods, relations, and one row of a unit or several."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from mechanisms.chances import fits
from scipy import optimize

from discreet.learn import HuberRisk, LogisticRisk, convex_risk
from discreet.learn.convex_losses import Huber, Logistic, Loss, SmoothHinge, Softmax
from discreet.learn.gaussian_noise import farther
from discreet.learn.newton_solver import Objective, minimised
from discreet.learn.perturbation import Perturbation, planned
from discreet.mechanisms import Column, Frame
from discreet.privacy import AddRemove, Approximate, Replace

ONE, RARE = Fraction(1), Fraction(1, 10**6)
MISSED = 2.0**-100  # of a draw that is not an ideal one, rounded


def deviation(epsilon: float, delta: float) -> float:
    """Of the Gaussian mechanism for moves of length 1 (Balle & Wang 2018, Theorem 8)."""

    def over(sigma: float) -> float:
        near, far = (math.erfc((epsilon * sigma + side / (2 * sigma)) / math.sqrt(2)) / 2 for side in (-1, 1))
        return near - math.exp(epsilon) * far - delta

    return float(optimize.brentq(over, 1e-3, 1e4, xtol=1e-9, rtol=1e-9))


def on_an_objective(epsilon: float, delta: float, dimensions: int) -> float:
    """The same where the move may turn with the noise in so many dimensions."""
    if dimensions == 1:
        return deviation(epsilon, delta / 2)
    far = math.sqrt(dimensions) + math.sqrt(2 * math.log(1 / delta))
    return 1 / (math.sqrt(far**2 + 2 * epsilon) - far)  # the root of μ far + μ²/2 = ε


LOSSES: list[tuple[Loss, tuple[float, float, int]]] = [  # the longest slope, the trace and the rank of its curvature
    (Logistic(), (1, 1 / 4, 1)),
    (SmoothHinge(Fraction(1, 10)), (1, 7.5, 1)),
    (Huber(Fraction(1, 5)), (1, 5, 1)),
    (Softmax(4), (math.sqrt(2), 3 / 4, 3)),
]
METHODS = ("objective", "gaussian", "output")
UNITS = [(AddRemove(), 1, ONE), (Replace(), 1, 10**4 * ONE), (AddRemove(), 3, 10**4 * ONE), (Replace(), 3, ONE)]
PRICES = [Approximate(ONE, RARE), Approximate(Fraction(1, 4), Fraction(1, 10**9)), Approximate(ONE, "3e-28")]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("loss", "facts"), LOSSES, ids=lambda each: type(each).__name__)
def test_the_noise_is_that_of_the_proof(loss: Loss, facts: tuple[float, float, int], method: str) -> None:
    for price, (neighbours, rows, alpha) in product(PRICES, UNITS):
        found = planned(loss, 5, Fraction(2), price, rows, neighbours, alpha, method)
        two = 2 if neighbours == Replace() else 1
        expected = by_hand(facts, price, (rows, two), float(alpha), method)
        assert found.exponential == (method == "objective" or (method == "output" and expected["shorter"]))
        assert found.where == ("output" if method == "output" else "objective")
        assert float(found.ridge) == pytest.approx(expected["ridge"], rel=2e-6)  # raised in steps that do not end here
        assert float(found.scale) == pytest.approx(expected["plain" if found.exponential else "normal"], rel=4e-6)
        numbers = 5 * loss.scores
        assert 2.0**-24 * expected["moved"] <= float(found.tolerance) * (1 + 1e-12)
        off = farther(numbers, exponential=found.exponential)
        assert found.drawn_off >= Fraction(off) * found.scale * (found.ridge if method == "output" else 1)
        assert found.tolerance >= 4 * found.drawn_off
        gap = found.tolerance / found.ridge
        assert found.step <= gap < 2 * found.step
        steps = 2 * math.sqrt(numbers) * float(gap / found.step) + numbers
        assert float(found.grid_scale * price.epsilon / 64) == pytest.approx(steps, rel=1e-9)


def by_hand(
    facts: tuple[float, float, int], price: Approximate, unit: tuple[int, int], ridge: float, method: str
) -> dict[str, float]:
    """By docs/proofs/convex.md, of five features of a length of at most √2, and of units of so many rows."""
    (steep, bent, rank), (rows, two), scores = facts, unit, facts[2] + 1 if facts[2] > 1 else 1
    numbers, moved, trace = 5 * scores, two * rows * math.sqrt(2) * steep, rows * 2 * bent
    most, epsilon = min(rows * rank, numbers), float(price.epsilon)
    delta = float(price.delta) - (2 * numbers + 1) * MISSED * (1 + math.exp(epsilon))
    spent = epsilon * 63 / 64

    def turning(ridge: float) -> float:
        return most * math.log1p(trace / (most * ridge))

    if method == "output":
        plain, normal = moved / ridge / spent, moved / ridge * deviation(spent, delta)
    else:
        if turning(ridge) > epsilon / 2:
            ridge = trace / most / math.expm1(epsilon / 2 / most)
        left, turns = spent - turning(ridge), min(two * rows * rank, numbers)
        plain, normal = moved / left, moved * on_an_objective(left, delta, turns)
    shorter = plain * numbers <= normal * math.sqrt(numbers)
    return {"ridge": ridge, "moved": moved, "plain": plain, "normal": normal, "shorter": shorter}


def test_what_hides_the_rest_is_noise_of_its_stated_scale_on_every_number() -> None:
    noise = Perturbation("objective", True, ONE, ONE, RARE, RARE, Fraction(1, 4), Fraction(3, 2))  # noqa: FBT003
    found = np.full((4000, 1), 2.0)
    told = convex_risk._on_grid(found, noise, Seeded(1), zeros=False)
    steps = [round(each) for each in (4 * (told - 2.0)).ravel().tolist()]
    assert fits([max(-12, min(12, each)) for each in steps], law(1.5))
    assert not fits([max(-12, min(12, each)) for each in steps], law(1.5 * 1.3))


def law(scale: float) -> dict[int, float]:
    """Of discrete Laplace noise, its tails taken together."""
    q = math.exp(-1 / scale)
    inner = {n: (1 - q) / (1 + q) * q ** abs(n) for n in range(-11, 12)}
    return {**inner, -12: q**12 / (1 + q), 12: q**12 / (1 + q)}


@pytest.mark.parametrize("l1", [0, 2])
def test_a_solver_is_given_less_than_all_that_may_be_off(monkeypatch: pytest.MonkeyPatch, l1: int) -> None:
    """The rest is what drawing the noise may be off, and an eighth for adding it; no corner is on the intercept."""
    given: list[tuple[Objective, float]] = []

    def watched(objective: Objective, tolerance: float) -> Any:  # noqa: ANN401
        given.append((objective, tolerance))
        return minimised(objective, tolerance)

    monkeypatch.setattr(convex_risk, "minimised", watched)
    columns = [Column("a", bounds=(-1, 1)), Column("b", bounds=(-1, 1))]
    table = Frame.of({"a": [0.5, -1], "b": [1, 0], "y": [0, 1]}, *columns, Column("y", keys=(0, 1)))
    learner = LogisticRisk(("a", "b"), "y", ONE, RARE, alpha=ONE, l1=Fraction(l1))
    learner(table, rng=Seeded(1))
    noise, ((objective, tolerance),) = learner.noise(table), given
    assert 0 < tolerance <= float(noise.tolerance - noise.drawn_off) * 7 / 8
    assert objective.ridge == float(noise.ridge)
    assert objective.corner.ravel().tolist() == [0, l1, l1]
    assert objective.reach >= math.sqrt(3)
    assert max(np.abs(rows).max() for rows, _ in objective.blocks) == 1


def test_a_line_has_the_noise_of_its_own_loss() -> None:
    """The width of Huber's loss is how bent it is, and so what the ridge is."""
    columns = [Column("a", bounds=(-1, 1)), Column("y", bounds=(-1, 1), step=1)]
    table = Frame.of({"a": [], "y": []}, *columns)
    wide, narrow = (HuberRisk(("a",), "y", ONE, RARE, ONE, width=Fraction(1, n)) for n in (2, 20))
    assert float(narrow.noise(table).ridge) == pytest.approx(20 * 2 / math.expm1(0.5), rel=1e-5)
    assert float(wide.noise(table).ridge) == pytest.approx(2 * 2 / math.expm1(0.5), rel=1e-5)
