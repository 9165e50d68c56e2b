"""The audit: does a mechanism lose more than it claims? It can be shown to; it can never be shown not to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from time import monotonic
from typing import Any

from discreet.audit.claim import excess, points
from discreet.audit.outputs import draw
from discreet.audit.pairs import Pairs, neighbouring
from discreet.audit.verdict import Verdict, judged
from discreet.audit.witness import accuse
from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share
from discreet.noise import SECURE, Entropy
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

    Half of the runs, shared evenly among the pairs, choose one pair and one event; the other half proves that event.

    Guarantee: a true claim is refuted with probability at most `alpha`, for every mechanism whose runs are independent.
    Proof: the runs that prove are made after pair and event are fixed. There is one event and one test, so nothing is
        left to correct for (docs/proofs/audit.md).
    """
    known, promise, risk = neighbouring(mechanism, pairs), _claim(mechanism, claim), share(alpha, "alpha")
    half = count(samples, "samples", least=LEAST_SAMPLES * len(known)) // 2
    promised = points(promise, samples - half)
    gain = partial(excess, promised, alpha=float(risk))
    accused = [accuse(mechanism, pair, half // len(known), gain, rng=rng) for pair in known]
    pair, found = max(zip(known, accused, strict=True), key=lambda entry: entry[1].gain)
    left, right = (draw(mechanism, data, samples - half, rng=rng) for data in (pair.left, pair.right))
    return judged(promise, promised, pair, found.event, left=left, right=right, alpha=risk, samples=samples)


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
