"""Audit of a mechanism against its claim, and its verdict: what was found, and all that is needed to check it.

That a mechanism loses more than it claims can be shown; that it does not, never.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from time import monotonic
from typing import Any

import numpy as np
from scipy import stats

from discreet.audit.accusing_event import Accusation, Event, accuse, heard
from discreet.audit.claim import Pairs, Point, excess, neighbouring, points, prefers_odds
from discreet.audit.outputs import Outputs, draw, keys, listed
from discreet.audit.probability_bounds import at_least, at_most, epsilon_at_least
from discreet.errors import Refusal
from discreet.exact import HALF, Number, count, positive, share, spoken
from discreet.mechanisms.mechanism import Pair
from discreet.noise import SECURE, Entropy, flips
from discreet.privacy.loss import Loss

POWER = 0.95  # of the violation that is called detectable
_FEW = 100
_FAR = 8.0  # above the claim: a larger violation would be called none
_FARTHEST = 10**6  # of a claim: floats could not tell a violation from it


@dataclass(frozen=True)
class Hits:
    """How often an event was seen."""

    hits: int
    trials: int

    def __str__(self) -> str:
        return f"{self.hits} of {self.trials}"


@dataclass(frozen=True)
class Verdict:
    """A claim after an audit: refuted, or not refuted. No sample can show that a mechanism is private.

    Guarantee: if the claim is true, `refuted` has probability at most `alpha`; and with probability 1 − `alpha`,
        (ε, `delta`)-privacy on this pair needs an ε of at least `epsilon`.
    Proof: docs/proofs/audit.md.
    """

    claim: Loss
    refuted: bool
    epsilon: Fraction  # proven: the mechanism is not (ε, delta)-private for any smaller ε
    promised: Fraction  # what the claim says instead, at this delta
    delta: Fraction
    detectable: Fraction | None
    alpha: Fraction
    pair: Pair[Any]
    event: str
    left: Hits
    right: Hits
    samples: int  # runs on either side, those that chose the event included
    silent: tuple[str, ...] = ()  # the pairs on which every run raised, of which nothing can be said
    constant: str | None = None  # what every run that was to prove told
    coins: str = ""  # whose

    def __str__(self) -> str:
        at = f" at δ = {spoken(self.delta, 3)}" if self.delta else ""
        head = f"claimed {self.claim}; proven ε ≥ {_floor(self.epsilon)}{at}"
        if self.refuted:
            head += f": refuted (wrongly in at most a share {spoken(self.alpha, 3)} of all audits)"
        else:
            head += f", which does not contradict the promised {spoken(self.promised, 4)}; that is no proof of privacy"
        lines = [
            head,
            f"event: {self.event}",
            f"seen on {_short(self.pair.left)}: {self.left}; on {_short(self.pair.right)}: {self.right}",
            f"neighbours: {self.pair.why}",
        ]
        if self.coins:
            lines.append(f"coins: {self.coins}")
        if not self.refuted:
            lines.append(self._power())
        if self.constant is not None and not self.refuted:
            lines.append(f"every run told the same, {self.constant}: is that all that leaves it?")
        lines += [f"not judged, for every run raised: {why}" for why in self.silent]
        return "\n".join(lines)

    def _power(self) -> str:
        if self.detectable is None:
            return f"with {self.samples} outputs no violation of this claim can be detected: draw more"
        at = " at this δ" if self.delta else ""
        return (
            f"power: with {self.samples} outputs, ε ≥ {float(self.detectable):.3f}{at} is refuted in"
            f" {100 * POWER:.0f} % of audits at best"
        )


def _floor(epsilon: Fraction) -> str:
    return f"{float(epsilon * 1000 // 1) / 1000:.3f}"


def _short(data: object) -> str:
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:57]}…"


def judged(  # noqa: PLR0913  # everything that a verdict rests on
    claim: Loss,
    promised: tuple[Point, ...],
    pair: Pair[Any],
    event: Event,
    *,
    left: Outputs,
    right: Outputs,
    alpha: Fraction,
    samples: int,
    by_odds: bool = False,
) -> Verdict:
    """The verdict on an event that was fixed before these outputs were drawn.

    `by_odds`, fixed beforehand too, tests on which side the hits are, if a coin named the input of each run; else each
    side has a limit of its own.
    """
    seen = Hits(_hits(event, left), len(left)), Hits(_hits(event, right), len(right))
    more, fewer = seen if event.left_is_likelier else seen[::-1]
    if by_odds:
        promised = tuple(point for point in promised if point.delta == 0)
        likely = at_least(more.hits, max(1, more.hits + fewer.hits), alpha)
        unlikely = 1 - likely
    else:
        likely = at_least(more.hits, more.trials, alpha / 2) if more.trials else Fraction(0)
        unlikely = at_most(fewer.hits, fewer.trials, alpha / 2) if fewer.trials else Fraction(1)
    proven = {point: epsilon_at_least(likely, unlikely, point.delta) for point in promised}
    contradicted = {point: point.contradicted(likely, unlikely) for point in promised}
    worst = max(promised, key=lambda p: (contradicted[p], proven[p] > 0, proven[p] - p.epsilon))
    return Verdict(
        claim,
        contradicted[worst],
        proven[worst],
        worst.epsilon,
        worst.delta,
        detectable(worst, (more.trials + fewer.trials) // 2, float(alpha)),
        alpha,
        pair,
        str(event),
        *seen,
        samples,
        constant=_constant(left, right),
    )


def _hits(event: Event, outputs: Outputs) -> int:
    return event.hits(outputs) if len(outputs) else 0


def _constant(*sides: Outputs) -> str | None:
    """What every run told, if it was always the same."""
    for few in (_FEW, max(map(len, sides))):  # mostly the first few show that it was not
        if len({key for side in sides for key in keys(side[:few])}) != 1:
            return None
    return _short(next(output for side in sides for output in listed(side)))


@lru_cache(maxsize=256)
def detectable(point: Point, trials: int, alpha: float) -> Fraction | None:
    """The smallest ε that would have been refuted at this point with probability `POWER`, at best.

    At best: by the mechanism that shows an ε most plainly, which is randomized response with a leak of δ (Kairouz, Oh
    & Viswanath 2017; docs/proofs/audit.md), with both counts of hits at their unlucky 2.5 % quantiles. Any other shows
    that ε less plainly, and its event has to be found first. In floats: no guarantee rests on it.
    """
    if point.epsilon > _FARTHEST:
        return None
    unlucky, kept = (1 - POWER) / 2, 1 - float(point.delta)
    low, high = float(point.epsilon), float(point.epsilon) + _FAR
    while high - low > 1e-4:
        middle = (low + high) / 2
        unlikely = kept * math.exp(-middle) / (1 + math.exp(-middle))
        likely = 1 - unlikely
        more = stats.binom.ppf([unlucky], trials, likely).astype(np.int64)
        fewer = stats.binom.ppf([1 - unlucky], trials, unlikely).astype(np.int64)
        seen = excess((point,), more, fewer, trials, alpha)[0] > 0
        low, high = (low, middle) if seen else (middle, high)
    return Fraction(high).limit_denominator(10**4) if high < float(point.epsilon) + _FAR else None


Audited = Callable[..., Any]

LEAST_SAMPLES = 40  # for each pair
ALPHA = Fraction(1, 10**6)


def audit(  # noqa: PLR0913  # what is audited, against what, and how hard
    mechanism: Audited,
    pairs: Pairs | None = None,
    claim: Loss | None = None,
    *,
    samples: int = 100_000,
    alpha: Number = ALPHA,
    rng: Entropy = SECURE,
) -> Verdict:
    """Try to refute a claim by running the mechanism `samples` times on either side of neighbouring inputs.

    Half of the runs, shared evenly among the pairs, choose one pair, one event and one test; the other half proves that
    event. Where every run raises and nothing else comes out, nothing can be judged: that is refused.

    Guarantee: a true claim is refuted with probability at most `alpha`, for every mechanism whose runs are independent.
    Proof: the runs that prove are made after pair, event and test are fixed. There is one event and one test, so
        nothing is left to correct for (docs/proofs/audit.md).
    """
    known, promise, risk = neighbouring(mechanism, pairs), claim_of(mechanism, claim), share(alpha, "alpha")
    half = count(samples, "samples", least=LEAST_SAMPLES * len(known)) // 2
    proof = samples - half
    promised = points(promise, proof)
    if not promised:
        hint = "claim less, or draw more"
        raise Refusal(f"{promise} promises nothing that {samples} outputs could contradict", hint=hint)
    gain = partial(excess, promised, alpha=float(risk))
    accused = [accuse(mechanism, pair, half // len(known), gain, proof=proof, rng=rng) for pair in known]
    pair, accusation = max(zip(known, accused, strict=True), key=lambda entry: entry[1].gain)
    by_odds = prefers_odds(promised, accusation.likely, accusation.unlikely, proof, float(risk))
    on_left = int(np.count_nonzero(flips(HALF, 2 * proof, rng=rng))) if by_odds else proof
    left = draw(mechanism, pair.left, on_left, rng=rng)
    right = draw(mechanism, pair.right, 2 * proof - on_left, rng=rng)
    verdict = judged(
        promise, promised, pair, accusation.event, left=left, right=right, alpha=risk, samples=samples, by_odds=by_odds
    )
    return _told(replace(verdict, coins=coins_of(rng)), known, accused)


def _told(verdict: Verdict, known: list[Pair[Any]], accused: list[Accusation]) -> Verdict:
    """The verdict, with the pairs of which it says nothing; refused if it says nothing of any."""
    both = zip(known, accused, strict=True)
    silent = tuple(pair.why for pair, each in both if each.raised and not (verdict.refuted and pair is verdict.pair))
    if len(silent) == len(known):
        heard(accused[0])
    return replace(verdict, silent=silent)


def coins_of(rng: Entropy) -> str:
    """Where the coins came from, for whoever wants to see the same again."""
    return "the operating system's; there is no seed to repeat them by" if rng is SECURE else f"of {rng!r}"


def insist(  # noqa: PLR0913  # those of `audit`, and how long
    mechanism: Audited,
    pairs: Pairs | None = None,
    claim: Loss | None = None,
    *,
    seconds: float,
    samples: int = 20_000,
    alpha: Number = ALPHA,
    rng: Entropy = SECURE,
) -> Verdict:
    """Audit again with twice the outputs until the claim is refuted or the time is spent.

    Guarantee: a true claim is refuted with probability at most `alpha`, however long this goes on: the r-th audit runs
        at alpha/2^r, and these add up to less than alpha.
    """
    risk, until, rounds = share(alpha, "alpha"), monotonic() + float(positive(seconds, "seconds")), 0
    known = neighbouring(mechanism, pairs)
    while True:
        start, rounds = monotonic(), rounds + 1
        verdict = audit(mechanism, known, claim, samples=samples, alpha=risk / 2**rounds, rng=rng)
        now = monotonic()
        if verdict.refuted or now + 2 * (now - start) > until:
            return replace(verdict, alpha=risk)
        samples *= 2


def claim_of(mechanism: Audited, claim: Loss | None) -> Loss:
    """The claim that is given, else the mechanism's own."""
    promise = getattr(mechanism, "privacy", None) if claim is None else claim
    if not hasattr(promise, "delta_at"):
        raise Refusal(f"{mechanism!r} claims nothing that can be audited", hint="pass claim=Pure(1), say")
    return promise  # type: ignore[return-value]
