"""What a crowd hides: reports that each person randomised, and whose order is lost.

If everybody uses one and the same ε₀-private randomizer, each honest report is a clone with some probability: as likely
to look like yours before your value changed as after. Among enough clones the change is hardly seen (Feldman, McMillan
& Talwar 2021). Proof, and the pair of laws that is computed: docs/proofs/shuffle.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from discreet.errors import Refusal
from discreet.exact import Number, count, nonnegative, share
from discreet.interval import exp
from discreet.privacy.loss import Approximate, Pure
from discreet.privacy.neighbours import Guarantee, Replace

if TYPE_CHECKING:
    from discreet.privacy.clones import Clones

Randomizer: TypeAlias = Literal["any", "binary"]

_HOPELESS = 50  # e^−50 clones per report hide nobody
_FAINT = Fraction(1, 10**12)  # an ε₀ so small needs no crowd
_CROWD = 10**9  # more reports hide no less, but the sums grow long


def shuffled(
    local: Guarantee[Pure], reports: int, *, delta: Number, randomizer: Randomizer = "any"
) -> Guarantee[Approximate]:
    """The promise of `reports` randomised reports from which the order was removed, at this δ.

    Guarantee: if all reports come from one and the same randomizer, each with coins of its own, and it is ε₀-private
        for replacing a value, the multiset of all reports is (ε, delta)-private for replacing one person's value. A
        report that carries a name hides among nobody. `reports` counts the honest ones only, yours included: what an
        adversary controls hides nobody.
    Proof: docs/proofs/shuffle.md. `randomizer="binary"` is for binary randomized response, which has more clones; for
        anything else, also randomized response over more values, leave it at "any".
    """
    total = share(delta, "delta")
    return Guarantee(Approximate(_epsilon(local, reports, total, randomizer), total), local.neighbours)


@lru_cache(maxsize=1024)
def _epsilon(local: Guarantee[Pure], reports: int, delta: Fraction, randomizer: Randomizer) -> Fraction:
    """Searched for once: a page may show it often."""
    clones = _clones(local, reports, randomizer)
    price = local.loss.epsilon  # shuffling is post-processing, so what each report promises stays true
    return price if clones is None else min(price, clones.epsilon_at(delta))


def shuffled_delta(
    local: Guarantee[Pure], reports: int, epsilon: Number, *, randomizer: Randomizer = "any"
) -> Fraction:
    """The δ at which the shuffled reports are (epsilon, δ)-private; see `shuffled`."""
    target, clones = nonnegative(epsilon, "epsilon"), _clones(local, reports, randomizer)
    if target >= local.loss.epsilon:
        return Fraction(0)
    if clones is None:
        return local.loss.delta_at(target)
    return min(local.loss.delta_at(target), clones.delta_at(target))


def _clones(local: Guarantee[Pure], reports: int, randomizer: Randomizer) -> Clones | None:
    """The clones of this crowd; None where there is nothing to hide, or nobody to hide among."""
    crowd, price = count(reports, "reports"), local.loss.epsilon
    if randomizer not in ("any", "binary"):
        raise Refusal(f"expected randomizer 'any' or 'binary', got {randomizer!r}")
    if not isinstance(local.neighbours, Replace):
        raise Refusal(
            f"a report is private for replacing its person's value, got a promise for {local.neighbours}",
            hint="say Guarantee(Pure(epsilon), Replace('person'))",
        )
    if not _FAINT <= price <= _HOPELESS:
        return None
    from discreet.privacy.clones import Clones  # noqa: PLC0415  # numpy and scipy load when needed

    chance = exp(-price) if randomizer == "any" else 2 / (1 + exp(price))
    return Clones(price, min(crowd, _CROWD), chance.down)
