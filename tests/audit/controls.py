"""Mechanisms whose loss is known exactly: the audit may come up to it and never beyond."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.claim import Specimen
from discreet.audit.zoo_wrong_noise import sparse_vector
from discreet.interval_arithmetic import log
from discreet.mechanisms.mechanism import Pair
from discreet.noise import SECURE, Entropy, flips, gaussians, laplaces
from discreet.privacy.loss import Approximate, Concentrated, Loss, Pure
from discreet.privacy.tradeoff import Gaussian

BITS = Pair(0, 1, "one bit")
LN3 = log(3).up  # at least ln 3, and not more than that by 10^−58


def response(bit: int, size: int, rng: Entropy) -> NDArray[np.int64]:
    """The truth with probability 3/4: exactly ln 3."""
    return np.where(flips(Fraction(3, 4), size, rng=rng), bit, 1 - bit)


def leaky_response(bit: int, size: int, rng: Entropy) -> NDArray[np.int64]:
    """With probability 1/10 the truth, marked as such; else the truth with probability 3/4: exactly (ln 3, 1/10)."""
    return np.where(flips(Fraction(1, 10), size, rng=rng), 2 + bit, response(bit, size, rng))


def grid_laplace(value: int, size: int, rng: Entropy) -> NDArray[np.float64]:
    """Exact noise on a grid, told as floats: exactly 1."""
    return (1024 * value + laplaces(1024, size, rng=rng)) / 1024.0


def rare_response(bit: int, size: int, rng: Entropy) -> NDArray[np.int64]:
    """Nothing but 2 in most runs; in one of 250 the truth with probability 3/4: exactly ln 3, in rare events only."""
    return np.where(flips(Fraction(1, 250), size, rng=rng), response(bit, size, rng), 2)


class Held:
    """Geometric noise in an object, beside what tells nothing."""

    def __init__(self, noisy: int) -> None:
        self.noisy, self.note = noisy, "noisy"


def held(value: int, size: int, rng: Entropy) -> list[object]:
    """Exactly 1, as objects."""
    return [Held(value + noise) for noise in laplaces(1, size, rng=rng).tolist()]


def streamed(value: int, size: int, rng: Entropy) -> list[object]:
    """Exactly 1, as generators."""
    return [iter((value + noise,)) for noise in laplaces(1, size, rng=rng).tolist()]


def sound(name: str, privacy: Loss, pair: Pair[Any], draw: Callable[[Any, int, Entropy], Any]) -> Specimen:
    return Specimen(name, privacy, pair, "none", "known exactly", draw)


TIGHT = (
    sound("response", Pure(LN3), BITS, response),
    sound("leaky-response", Approximate(LN3, "0.1"), BITS, leaky_response),
    sound("geometric", Pure(1), BITS, lambda value, size, rng: value + laplaces(1, size, rng=rng)),
    sound("gaussian", Concentrated("1/2"), BITS, lambda value, size, rng: value + gaussians(1, size, rng=rng)),
    sound("coarse-gaussian", Gaussian.of(1), Pair(0, 64, "…"), lambda v, size, rng: v + gaussians(4096, size, rng=rng)),
)
RARELY_TIGHT = sound("rare-response", Pure(LN3), BITS, rare_response)
IN_OBJECTS = (sound("held", Pure(1), BITS, held), sound("streamed", Pure(1), BITS, streamed))
SOUND = (
    sound("grid-laplace", Pure(1), BITS, grid_laplace),
    sound(
        "svt-1",
        Pure(1),
        Pair((0,) * 9 + (1,), (1,) * 9 + (0,), "one person moves from the last query to the others"),
        lambda queries, size, rng: sparse_vector(queries, size, threshold_scale=2, query_scale=4, most=1, rng=rng),
    ),
)


@dataclass(frozen=True)
class Silent:
    """Discrete Laplace noise, with half of the scale that it needs."""

    @property
    def privacy(self) -> Pure:
        return Pure(1)

    def pairs(self) -> tuple[Pair[int], ...]:
        return (Pair(0, 2, "two apart, though one was promised"),)

    def sample(self, data: int, size: int, *, rng: Entropy) -> NDArray[np.int64]:
        return data + laplaces(1, size, rng=rng)

    def __call__(self, data: int, /, *, rng: Entropy = SECURE) -> int:
        return int(self.sample(data, 1, rng=rng)[0])


class Weighed(Silent):
    """The same, and it tells its own law."""

    def log_weight(self, data: int, output: int) -> float:
        return -abs(output - data)
