"""An audit that may be stopped at any time, and whose runs need not be independent of those before them.

The input of every run is named by a coin. If the claim is true, a hit is on the likelier side with probability
e^ε/(1 + e^ε) at most, whatever happened before. So whoever bets on that side at the odds of the claim never expects to
win, and gets rich with probability `alpha` at most (Ville 1939): riches refute.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.accusing_event import Accusation, Event, accuse, heard
from discreet.audit.claim import Pairs, neighbouring, odds_excess, points
from discreet.audit.outputs import once
from discreet.audit.probability_bounds import HitCounts
from discreet.audit.trial import ALPHA, LEAST_SAMPLES, Hits, Verdict, claim_of, coins_of
from discreet.errors import Refusal
from discreet.exact import HALF, ZERO, Number, count, positive, share
from discreet.interval_arithmetic import Interval, exp, greatest, log
from discreet.mechanisms.mechanism import Pair
from discreet.noise import SECURE, Entropy, flips
from discreet.privacy.loss import Loss

_FAR = Fraction(32)
_STEP = 64  # runs between two looks at the clock
_SUREST = Fraction(63, 64)  # nobody bets everything
_DIGITS = 30


@dataclass(frozen=True)
class Bet:
    """On which side each hit will be: a share `sure` of the stake on the likelier one, fixed before the runs."""

    sure: Fraction

    def refutes(self, epsilon: Fraction, right: int, wrong: int, alpha: Fraction) -> bool:
        """Whether the fortune of whoever bet so is 1/alpha or more, if this ε sets the odds. Exact.

        Guarantee: if the mechanism is ε-private, it ever becomes so with probability at most `alpha`.
        Proof: docs/proofs/audit.md, "At any time".
        """
        odds = exp(epsilon)
        fair, other = odds / (1 + odds), 1 / (1 + odds)
        if fair.high >= Interval.of(self.sure).low:  # then betting on that side gains nothing
            return False
        fortune = right * (log(self.sure, _DIGITS) - fair.log()) + wrong * (log(1 - self.sure, _DIGITS) - other.log())
        return bool(fortune.low >= log(1 / alpha, _DIGITS).high)

    def proven(self, right: int, wrong: int, alpha: Fraction) -> Fraction:
        """The largest ε that is refuted, rounded down; 0 if none is."""

        def refuted(epsilon: Fraction) -> bool:
            return self.refutes(epsilon, right, wrong, alpha)

        return greatest(refuted, ZERO, _FAR, Fraction(1, 10**6)) if refuted(ZERO) else ZERO


def audit_until(  # noqa: PLR0913  # what is audited, against what, and how long
    mechanism: Callable[..., Any],
    pairs: Pairs | None = None,
    claim: Loss | None = None,
    *,
    seconds: float,
    samples: int = 20_000,
    looking: int = 2_000,
    alpha: Number = ALPHA,
    rng: Entropy = SECURE,
) -> Verdict:
    """Try to refute a claim of pure privacy, run by run, until it is, or `seconds` or 2·`samples` runs are over.

    `looking` runs on each input of every pair choose a pair, an event and a bet; each further run is on the input that
    a coin names. A run may depend on those before it, as time does (`Timed`).

    Guarantee: a true claim is refuted with probability at most `alpha`, whenever one stops, if given all runs before
        it each run keeps the promise.
    Proof: docs/proofs/audit.md, "At any time".
    """
    risk, until = share(alpha, "alpha"), monotonic() + float(positive(seconds, "seconds"))
    known, promise = neighbouring(mechanism, pairs), claim_of(mechanism, claim)
    most, look = 2 * count(samples, "samples"), count(looking, "looking", least=LEAST_SAMPLES)
    promised = tuple(point for point in points(promise, most) if point.delta == 0)
    if not promised:
        raise Refusal(
            f"{promise} has a δ everywhere, and what is bet on odds needs none",
            hint="audit it with audit, or claim an ε alone",
        )

    def gain(likely: HitCounts, unlikely: HitCounts, _: int) -> NDArray[np.float64]:
        return odds_excess(promised, likely, unlikely, float(risk))

    each = [accuse(mechanism, pair, look, gain, proof=samples, rng=rng) for pair in known]
    pair, accusation = max(zip(known, each, strict=True), key=lambda entry: entry[1].gain)
    if all(one.raised for one in each):
        heard(accusation)
    bet, point = _bet(accusation), min(promised, key=lambda point: point.epsilon)
    seen = (Hits(0, 0), Hits(0, 0))
    while (runs := sum(side.trials for side in seen)) < most and monotonic() < until:
        seen = _further(mechanism, pair, accusation.event, seen=seen, size=min(_STEP, most - runs), rng=rng)
        if bet.refutes(point.epsilon, *_sides(accusation, seen), risk):
            break
    proven = bet.proven(*_sides(accusation, seen), risk)
    return Verdict(
        promise,
        proven > point.epsilon,
        proven,
        point.epsilon,
        ZERO,
        _detectable(accusation, point.epsilon, most, float(risk)),
        risk,
        pair,
        str(accusation.event),
        *seen,
        look + sum(side.trials for side in seen) // 2,
        coins=coins_of(rng),
    )


def _further(  # noqa: PLR0913  # what a run is made of, and how many
    mechanism: Callable[..., Any], pair: Pair[Any], event: Event, *, seen: tuple[Hits, Hits], size: int, rng: Entropy
) -> tuple[Hits, Hits]:
    """With so many runs more, each on the input that a coin names."""
    told: tuple[list[object], list[object]] = [], []
    for coin in flips(HALF, size, rng=rng).tolist():
        told[coin].append(once(mechanism, pair.right if coin else pair.left, rng=rng))
    left, right = (
        Hits(side.hits + (event.hits(new) if new else 0), side.trials + len(new))
        for side, new in zip(seen, told, strict=True)
    )
    return left, right


def _sides(accusation: Accusation, seen: tuple[Hits, Hits]) -> tuple[int, int]:
    """How many hits were on the side that was bet on, and how many on the other."""
    likely, unlikely = seen if accusation.event.left_is_likelier else seen[::-1]
    return likely.hits, unlikely.hits


def _bet(accusation: Accusation) -> Bet:
    """The share of hits on the likelier side that the look suggests: who bets so gets rich soonest (Kelly 1956)."""
    share_of = (accusation.likely + 0.5) / (accusation.likely + accusation.unlikely + 1)
    return Bet(min(_SUREST, max(HALF, Fraction(share_of).limit_denominator(10**6))))


def _detectable(accusation: Accusation, epsilon: Fraction, runs: int, alpha: float) -> Fraction | None:
    """About the smallest ε that hits as frequent as those seen show in 95 % of audits. No guarantee rests on it."""
    hits = (accusation.likely + accusation.unlikely) / accusation.of * runs / 2
    fair = 1 / (1 + math.exp(-min(float(epsilon), 700.0)))
    for step in range(1, 800):
        sure = 1 / (1 + math.exp(-float(epsilon) - step / 100))
        if sure >= 1 or fair >= 1:
            return None
        up, down = math.log(sure / fair), math.log((1 - sure) / (1 - fair))
        mean, spread = sure * up + (1 - sure) * down, (up - down) * math.sqrt(sure * (1 - sure))
        if hits * mean - 1.645 * spread * math.sqrt(hits) >= -math.log(alpha):
            return epsilon + Fraction(step, 100)
    return None
