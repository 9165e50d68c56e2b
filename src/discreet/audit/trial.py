"""The audit: does a mechanism lose more than it claims? It can be shown to; it can never be shown not to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from time import monotonic
from typing import Any

import numpy as np

from discreet.audit.accusing_event import Accusation, accuse, heard
from discreet.audit.claim import Pairs, excess, neighbouring, points, prefers_odds
from discreet.audit.outputs import draw
from discreet.audit.verdict import Verdict, judged
from discreet.errors import Refusal
from discreet.exact import HALF, Number, count, positive, share
from discreet.mechanisms.mechanism import Pair
from discreet.noise import SECURE, Entropy, flips
from discreet.privacy.loss import Loss

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
    known, promise, risk = neighbouring(mechanism, pairs), _claim(mechanism, claim), share(alpha, "alpha")
    half = count(samples, "samples", least=LEAST_SAMPLES * len(known)) // 2
    proof = samples - half
    promised = points(promise, proof)
    if not promised:
        hint = "claim less, or draw more"
        raise Refusal(f"{promise} promises nothing that {samples} outputs could contradict", hint=hint)
    gain = partial(excess, promised, alpha=float(risk))
    accused = [accuse(mechanism, pair, half // len(known), gain, proof=proof, rng=rng) for pair in known]
    pair, found = max(zip(known, accused, strict=True), key=lambda entry: entry[1].gain)
    by_odds = prefers_odds(promised, found.likely, found.unlikely, proof, float(risk))
    on_left = int(np.count_nonzero(flips(HALF, 2 * proof, rng=rng))) if by_odds else proof
    left = draw(mechanism, pair.left, on_left, rng=rng)
    right = draw(mechanism, pair.right, 2 * proof - on_left, rng=rng)
    verdict = judged(
        promise, promised, pair, found.event, left=left, right=right, alpha=risk, samples=samples, by_odds=by_odds
    )
    return _told(verdict, known, accused)


def _told(verdict: Verdict, known: list[Pair[Any]], accused: list[Accusation]) -> Verdict:
    """The verdict, with the pairs of which it says nothing; refused if it says nothing of any."""
    both = zip(known, accused, strict=True)
    silent = tuple(pair.why for pair, each in both if each.raised and not (verdict.refuted and pair is verdict.pair))
    if len(silent) == len(known):
        heard(accused[0])
    return replace(verdict, silent=silent)


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


def _claim(mechanism: Audited, claim: Loss | None) -> Loss:
    promise = getattr(mechanism, "privacy", None) if claim is None else claim
    if not hasattr(promise, "delta_at"):
        raise Refusal(f"{mechanism!r} claims nothing that can be audited", hint="pass claim=Pure(1), say")
    return promise  # type: ignore[return-value]
