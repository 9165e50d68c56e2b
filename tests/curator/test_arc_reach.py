"""How far noise reaches in a direction that a part of it turns: whoever turns it misses no more, and not much less."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from discreet.curator.arc_reach import Arc, Still, Turning, reach
from discreet.mechanisms import GaussianVector, LaplaceVector
from discreet.mechanisms.noise_sums import sums_of

RARE = Fraction(1, 20)
RUNS = 40_000
LAPLACE, GAUSSIAN = LaplaceVector(Fraction(40)), GaussianVector(Fraction(40**2))
Noise = LaplaceVector | GaussianVector


def drawn(noise: Noise, rng: np.random.Generator) -> NDArray[np.float64]:
    if isinstance(noise, LaplaceVector):
        success = -math.expm1(-1 / float(noise.scale))
        return (rng.geometric(success, RUNS) - rng.geometric(success, RUNS)).astype(np.float64)
    return np.rint(rng.normal(0, math.sqrt(noise.variance), RUNS))


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("arc", [(0.0, math.pi / 2), (0.5, 1.1), (0.78, 0.79), (1.3, 1.5)])
@pytest.mark.parametrize("turning", [(0.0, 0.0), (0.8, 0.8), (1.5, 0.2), (0.0, 1.0)])
def test_whoever_turns_the_direction_misses_no_more(noise: Noise, arc: Arc, turning: tuple[float, float]) -> None:
    """Whoever sees the turning noises turns to where these alone push farthest, or to any one direction."""
    rng, lone = np.random.default_rng(1), sums_of((noise,), RARE)
    still = Still.of(sums_of((noise, noise), RARE), ((1.0,), (1.0,)))
    one, two = (Turning.of(lone, [weight]) for weight in turning)
    far = reach(arc, still, one, two, float(RARE))
    a, b, x, y = (drawn(noise, rng) for _ in range(4))
    angles = np.linspace(*arc, 25)[:, None]
    pushed = np.abs(turning[0] * a * np.cos(angles) + turning[1] * b * np.sin(angles))
    worst = angles[pushed.argmax(axis=0), 0]
    choices = [worst, *(np.full(RUNS, angle) for angle in angles[::6, 0])]
    missed = [
        int((np.abs((x + turning[0] * a) * np.cos(phi) + (y + turning[1] * b) * np.sin(phi)) > far).sum())
        for phi in choices
    ]
    assert stats.binom.sf(max(missed) - 1, RUNS, float(RARE)) >= 1e-9
    assert max(missed) >= 0.6 * float(RARE) * RUNS


def test_a_larger_arc_or_weight_never_reaches_less() -> None:
    lone, still = sums_of((LAPLACE,), RARE), Still.of(sums_of((LAPLACE, LAPLACE), RARE), ((1.0,), (1.0,)))
    arcs: list[Arc] = [(0.7, 0.8), (0.6, 1.0), (0.3, 1.2), (0.0, math.pi / 2)]
    some, more = Turning.of(lone, [0.5]), Turning.of(lone, [0.9])
    reaches = [reach(arc, still, some, some, float(RARE)) for arc in arcs]
    assert all(one <= two * 1.001 for one, two in pairwise(reaches))
    assert all(reach(arc, still, more, some, float(RARE)) > far for arc, far in zip(arcs, reaches, strict=True))
