"""An audit with one run: canaries are put in by coins, and whoever sees the output guesses which of them were in.

A release of a large table or the training of a model cannot be run a hundred thousand times. One run with many
canaries, each in or out by a coin of its own, tells as well how much it loses (Steinke, Nasr & Jagielski 2023), if less
sharply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt
from typing import TypeVar

import numpy as np

from discreet.audit.probability_bounds import exactly, upper_tail
from discreet.errors import Refusal
from discreet.exact import HALF, ZERO, Number, count, probability, share, spoken
from discreet.interval_arithmetic import WIDTH, exp, greatest, least, simpler_up
from discreet.noise import SECURE, Entropy, flips, permutation
from discreet.privacy.loss import Approximate, Loss, Pure

C = TypeVar("C")
M = TypeVar("M")

_FEW = 256  # outcomes that are gone through one by one
_MANY = 10_000
_REACH = 1 << 17  # outcomes that are looked at, where there are more
_LARGEST = 1e250
_SLACK = Fraction(1, 1 << 30)

_FAR = Fraction(32)  # of an ε that is looked for: a right guess is certain there, but for one in 10^13


@dataclass(frozen=True)
class OneRun:
    """What one run with canaries proves.

    Guarantee: if the mechanism is (ε, delta)-private when a canary comes or goes, `epsilon` is above ε in at most a
        share `alpha` of all audits; and a claim that is true is `refuted` in no more.
    """

    canaries: int
    guesses: int
    right: int
    epsilon: Fraction
    detectable: Fraction
    delta: Fraction
    claim: Loss | None
    claimed: Fraction | None
    alpha: Fraction

    @property
    def refuted(self) -> bool:
        """Whether so many right guesses are too unlikely under the claim."""
        return self.claimed is not None and self.epsilon > self.claimed

    def __str__(self) -> str:
        at = f" at δ = {spoken(self.delta)}" if self.delta else ""
        sure = f"{100 * float(1 - self.alpha):g} % confidence"
        verdict = "" if self.claim is None else f"{self.claim} is {'refuted' if self.refuted else 'not refuted'}: "
        return (
            f"{verdict}{self.right} of {self.guesses} guesses about {self.canaries} canaries were right\n"
            f"proven: ε ≥ {float(self.epsilon):.4g}{at} ({sure})\n"
            f"power: if all guesses were right, ε ≥ {float(self.detectable):.4g} would be proven"
        )


def audit_one_run(  # noqa: PLR0913  # what an audit with canaries is made of
    train: Callable[[Sequence[C]], M],
    canaries: Sequence[C],
    score: Callable[[M, C], float],
    claim: Loss | None = None,
    *,
    delta: Number | None = None,
    guesses: int | None = None,
    alpha: Number = Fraction(1, 20),
    rng: Entropy = SECURE,
) -> OneRun:
    """Run `train` once on a random half of the canaries, and guess by `score` which of them were in.

    `train` adds the canaries that it is given to whatever else it trains on; each is all that one unit contributes. A
    higher score says that a canary is likelier in. `guesses` of them are named, half of them in and half of them out,
    those with the most telling scores; of the others nothing is said. How many has to be chosen before the run.

    Proof: docs/proofs/audit.md, "One run with canaries".
    Source: Steinke, Nasr & Jagielski 2023, whose correction for δ is another.
    """
    total = count(len(canaries), "the number of canaries")
    said = count(total if guesses is None else guesses, "guesses")
    if said > total:
        raise Refusal(f"expected at most {total} guesses, one for each canary, got guesses={said}")
    risk, (claimed, chance) = share(alpha, "alpha"), _point(claim, delta)
    coins = flips(HALF, total, rng=rng)
    output = train([canary for canary, coin in zip(canaries, coins.tolist(), strict=True) if coin])
    scores = np.array([float(score(output, canary)) for canary in canaries])
    if np.isnan(scores).any():
        odd = int(np.flatnonzero(np.isnan(scores))[0])
        raise Refusal(
            f"the score of canary {odd} is not a number",
            hint="give a canary of which nothing is known the score of the others",
        )
    ranked = np.array(permutation(total, rng=rng), dtype=np.int64)
    ranked = ranked[np.argsort(scores[ranked], kind="stable")]  # of equal scores none is preferred
    out, into = ranked[: said // 2], ranked[total - (said - said // 2) :]
    right = int(np.count_nonzero(coins[into]) + np.count_nonzero(~coins[out]))
    proven, most = (one_run_bound(hits, said, total, chance, risk) for hits in (right, said))
    return OneRun(total, said, right, proven, most, chance, claim, claimed, risk)


def _point(claim: Loss | None, delta: Number | None) -> tuple[Fraction | None, Fraction]:
    """The ε that is claimed, and at which δ."""
    if claim is None or isinstance(claim, Pure):
        return None if claim is None else claim.epsilon, probability(delta or 0, "delta")
    if isinstance(claim, Approximate) and delta is None:
        return claim.epsilon, claim.delta
    if delta is None:
        raise Refusal(f"{claim} is a curve", hint="say at which delta it is to be tested: delta='1e-6'")
    chance = probability(delta, "delta")
    if claim.delta_at(_FAR) > chance:
        raise Refusal(f"{claim} promises nothing at delta={spoken(chance)}", hint="choose a larger one")
    return least(lambda epsilon: claim.delta_at(epsilon) <= chance, ZERO, _FAR, WIDTH), chance


def one_run_bound(
    right: int, guesses: int, canaries: int, delta: Number = 0, alpha: Number = Fraction(1, 20)
) -> Fraction:
    """The largest ε that so many right guesses refute at this δ, rounded down; 0 where they refute none."""
    risk, chance = share(alpha, "alpha"), probability(delta, "delta")
    count(guesses, "guesses")
    if not 0 <= right <= guesses <= canaries:
        raise Refusal(f"expected 0 <= right <= guesses <= canaries, got {right}, {guesses}, {canaries}")
    return _bound(right, guesses, canaries, chance, risk)


@lru_cache(maxsize=4096)
def _bound(right: int, guesses: int, canaries: int, delta: Fraction, risk: Fraction) -> Fraction:
    def refutes(epsilon: Fraction) -> bool:
        return one_run_chance(right, guesses, canaries, epsilon, delta) <= risk

    if not refutes(ZERO):
        return ZERO
    return _FAR if refutes(_FAR) else greatest(refutes, ZERO, _FAR, Fraction(1, 10**6))


def one_run_chance(right: int, guesses: int, canaries: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """How likely so many right guesses or more are at most, if it is (ε, δ)-private, rounded up.

    Pr[W ≥ v] for W ~ Bin(guesses, e^ε/(1 + e^ε)), and what a budget of canaries·δ/2 lifts from below v to v: each unit
    of it lifts one outcome by one, and those just below v are the cheapest.
    """
    odds = exp(epsilon)
    chance = simpler_up((odds / (1 + odds)).up)
    if guesses > _MANY and right <= int(guesses * chance):  # at or below the median
        return Fraction(1)
    total, budget = upper_tail(right, guesses, chance), canaries * delta / 2
    if right > _FEW and budget:
        return min(
            Fraction(1), total + _lifted(right, guesses, chance, budget), _from_afar(right, guesses, chance, budget)
        )
    for short in range(1, right + 1):
        lifted = min(exactly(right - short, guesses, chance), budget / short)
        total, budget = total + lifted, budget - short * lifted
        if not budget or total >= 1:
            break
    return min(Fraction(1), total)


def _lifted(right: int, guesses: int, chance: Fraction, budget: Fraction) -> Fraction:
    """At least what the budget lifts, where outcomes are too many to be gone through one by one.

    For every J it is at most B/(J + 1) + Σ_{j ≤ J} (1 − j/(J + 1)) Pr[W = v − j], by duality; a J is looked for where
    that is least. The probabilities are that of v − 1 times products of ratios, in floats: each factor is off by three
    roundings, and all of them together, with the sum, by less than `_SLACK` (docs/proofs/audit.md).
    """
    first = exactly(right - 1, guesses, chance)
    short = np.arange(1, min(right, _REACH), dtype=np.float64)
    ratios = (right - short) / (guesses - right + short + 1) * float((1 - chance) / chance)
    with np.errstate(over="ignore"):
        relative = np.concatenate([[1.0], np.cumprod(ratios)])
    relative = relative[: int(np.argmax(relative > _LARGEST)) or relative.size]
    places = np.arange(1, relative.size + 1, dtype=np.float64)
    near = float(first)
    bounds = float(budget) / (places + 1) + near * (np.cumsum(relative) - np.cumsum(places * relative) / (places + 1))
    last = int(np.argmin(bounds)) + 1
    taken = float(relative[:last] @ (1 - places[:last] / (last + 1)))
    return min(budget, budget / (last + 1) + first * Fraction(taken) * (1 + _SLACK))  # the former is J = 0


def _from_afar(right: int, guesses: int, chance: Fraction, budget: Fraction) -> Fraction:
    """The same with the tail, of a v far beyond the mean: B/(J + 1) + Pr[W ≥ v − J], where J reaches to near it."""
    near = ceil(guesses * chance) + 10 * isqrt(ceil(guesses * chance * (1 - chance))) + 10  # about ten deviations
    if right <= near:
        return Fraction(1)
    return budget / (right - near + 1) + upper_tail(near, guesses, chance)
