"""The best k of several candidates, chosen one after another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.grid import Integers
from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share, shown
from discreet.interval_arithmetic import simpler_down, sqrt
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, one_way, settle
from discreet.mechanisms.registry import registered
from discreet.mechanisms.selection import Exponential, PermuteAndFlip
from discreet.noise import SECURE, Entropy, exponential, permute_and_flip
from discreet.privacy import AddRemove, Concentrated, Neighbours, Pure


class _Peeling(ABC):
    """One choice after another, each among those that are left."""

    takes: ClassVar[Takes] = Takes.SCORES

    candidates: int
    size: int
    sensitivity: int
    monotone: bool

    @property
    @abstractmethod
    def choice(self) -> PermuteAndFlip | Exponential:
        """One of the choices that are made, at its share of the price."""

    def error(self, confidence: Number = USUAL) -> int:
        """An α such that, with this confidence, each place j holds a candidate at most α below the j-th best score."""
        return self.choice.error(_each(confidence, self.size))

    def pairs(self) -> tuple[Pair[tuple[int, ...]], ...]:
        """Those of one choice, and a tie in which the candidates of one half rise while the others fall."""
        rest, fall = self.candidates - self.size, 0 if self.monotone else self.sensitivity
        ahead = (self.sensitivity,) * self.size + (-fall,) * rest
        halves = Pair((0,) * self.candidates, ahead, "as many as are chosen get ahead of the others")
        return (*self.choice.pairs(), halves)

    def __call__(self, scores: Integers, /, *, rng: Entropy = SECURE) -> tuple[int, ...]:
        """The indices of the chosen candidates, in the order of choice."""
        values, choose, chosen = self.choice.scored(scores), self._drawn, list[int]()
        left = np.arange(values.size)
        for _ in range(self.size):
            place = choose(values[left], rng)
            chosen.append(int(left[place]))
            left = np.delete(left, place)
        return tuple(chosen)

    @abstractmethod
    def _drawn(self, left: NDArray[np.int64], rng: Entropy) -> int:
        """The place of one that is chosen among those left."""


@registered("top-k")
@dataclass(frozen=True)
class TopK(_Peeling):
    """Chooses `size` candidates, the best first: permute-and-flip among those left, as often.

    Guarantee: |score(x, r) − score(x', r)| ≤ sensitivity for neighbours x, x' and every r implies Pure(epsilon).
    Proof: each choice is Pure(epsilon / size) given the earlier ones (`PermuteAndFlip`), and adaptive choices add up.
    Source: McKenna & Sheldon 2020; peeling as in Bhaskar, Laxman, Smith & Thakurta 2010.
    """

    epsilon: Fraction
    candidates: int
    size: int
    sensitivity: int = 1
    monotone: bool = False
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(self, epsilon=positive(self.epsilon, "epsilon"), **_checked(self))

    @property
    def privacy(self) -> Pure:
        """ε, whatever the scores."""
        return Pure(self.epsilon)

    @cached_property
    def choice(self) -> PermuteAndFlip:
        """One of the choices that are made, at its share of the price."""
        price = self.epsilon / self.size
        return PermuteAndFlip(price, self.candidates, self.sensitivity, self.monotone, self.neighbours)

    def _drawn(self, left: NDArray[np.int64], rng: Entropy) -> int:
        return permute_and_flip(left, self.choice.rate, rng=rng)


@registered("top-k-concentrated")
@dataclass(frozen=True)
class ConcentratedTopK(_Peeling):
    """Chooses `size` candidates, the best first: the exponential mechanism among those left, as often.

    For many choices it is more accurate than `TopK` at the same (ε, δ): ρ grows with the square of what a choice loses.

    Guarantee: |score(x, r) − score(x', r)| ≤ sensitivity for neighbours x, x' and every r implies Concentrated(rho).
    Proof: a choice at ε is (ε² / 8)-zCDP (docs/proofs/selection.md, "Bounded range"); each has ε² / 8 ≤ rho / size, and
        adaptive choices add up (Bun & Steinke 2016, Lemma 2.3).
    Source: Durfee & Rogers 2019, Cesar & Rogers 2021.
    """

    rho: Fraction
    candidates: int
    size: int
    sensitivity: int = 1
    monotone: bool = False
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(self, rho=positive(self.rho, "rho"), **_checked(self))

    @property
    def privacy(self) -> Concentrated:
        """ρ, whatever the scores."""
        return Concentrated(self.rho)

    @cached_property
    def choice(self) -> Exponential:
        """One of the choices that are made: ε = √(8 rho / size), rounded down."""
        price = simpler_down(sqrt(8 * self.rho / self.size).down)
        return Exponential(price, self.candidates, self.sensitivity, self.monotone, self.neighbours)

    def _drawn(self, left: NDArray[np.int64], rng: Entropy) -> int:
        return exponential(left, self.choice.rate, rng=rng)


def _checked(top: TopK | ConcentratedTopK) -> dict[str, object]:
    fields: dict[str, object] = {
        "candidates": count(top.candidates, "candidates"),
        "size": count(top.size, "size"),
        "sensitivity": count(top.sensitivity, "sensitivity"),
        "monotone": one_way(top.monotone, top.neighbours),
        "neighbours": top.neighbours,
    }
    if top.size > top.candidates:
        raise Refusal(f"expected size <= candidates, got size={shown(top.size)} candidates={shown(top.candidates)}")
    return fields


def _each(confidence: Number, size: int) -> Fraction:
    """The confidence of one choice, so that all of them hold together by a union bound.

    The best of those left at place j is at least the j-th best of all, so falling α short of it is falling α short.
    """
    return 1 - (1 - share(confidence, "confidence")) / size
