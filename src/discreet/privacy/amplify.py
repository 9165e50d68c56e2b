"""Amplification: a mechanism promises more to each unit where it sees a secret sample, or reports in no order.

Sampling: the sample must stay secret and be drawn afresh for every use. Proofs: docs/proofs/subsampling.md.

Shuffling: if everybody uses one and the same ε₀-private randomizer, each honest report is a clone with some
probability: as likely to look like yours before your value changed as after. Among enough clones the change is hardly
seen (Feldman, McMillan & Talwar 2021). Proof, and the pair of laws that is computed: docs/proofs/shuffle.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from discreet.errors import Refusal
from discreet.exact import Number, count, nonnegative, positive, share
from discreet.interval import exp, simpler_up
from discreet.privacy.loss import Approximate, Pure
from discreet.privacy.neighbours import AddRemove, Guarantee, Replace

if TYPE_CHECKING:
    from discreet.privacy.clones import Clones

Randomizer: TypeAlias = Literal["any", "binary"]

_HOPELESS = 50  # e^−50 clones per report hide nobody
_FAINT = Fraction(1, 10**12)  # an ε₀ so small needs no crowd
_CROWD = 10**9  # more reports hide no less, but the sums grow long

P = TypeVar("P", Pure, Approximate)


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


def poisson(inner: Guarantee[P], rate: Number) -> Guarantee[P]:
    """The promise of a mechanism run on a Poisson sample: each unit is in with probability `rate`, independently.

    Guarantee: `inner` for adding or removing one unit of the sample gives (ln(1 + q(e^ε − 1)), qδ), rounded up, for
        adding or removing one unit of the population.
    Proof: Balle, Barthe & Gaboardi 2018, Theorem 8.
    """
    share = positive(rate, "rate")
    if share > 1:
        raise Refusal(f"expected 0 < rate <= 1, got rate={rate}")
    if not isinstance(inner.neighbours, AddRemove):
        raise Refusal(
            f"Poisson sampling amplifies a promise for adding or removing one unit, got one for {inner.neighbours}",
            hint="the size of a Poisson sample is not public; sample without replacement instead",
        )
    return Guarantee(_amplified(inner.loss, share), inner.neighbours)


def without_replacement(inner: Guarantee[P], sample: int, population: int) -> Guarantee[P]:
    """The promise of a mechanism run on `sample` units, drawn uniformly from the `population` there are.

    Guarantee: `inner` for replacing one unit of the sample gives (ln(1 + q(e^ε − 1)), qδ) with q = sample/population,
        rounded up, for replacing one unit of the population, whose size is public.
    Proof: Balle, Barthe & Gaboardi 2018, Theorem 9.
    """
    size, everyone = count(sample, "sample"), count(population, "population")
    if size > everyone:
        raise Refusal(f"expected sample <= population, got sample={sample}, population={population}")
    if not isinstance(inner.neighbours, Replace):
        raise Refusal(
            f"sampling without replacement amplifies a promise for replacing one unit, got one for {inner.neighbours}",
            hint="turn it into one first: guarantee.under(Replace(unit))",
        )
    return Guarantee(_amplified(inner.loss, Fraction(size, everyone)), inner.neighbours)


def _amplified(loss: P, rate: Fraction) -> P:
    if type(loss) not in (Pure, Approximate):  # whatever the type checker was told
        raise Refusal(
            f"sampling is proven to amplify Pure and Approximate losses, got a {type(loss).__name__}",
            hint="convert it to Approximate first",
        )
    if rate == 1:
        return loss
    if isinstance(loss, Pure):
        return Pure(_sampled_epsilon(loss.epsilon, rate))
    return Approximate.capped(_sampled_epsilon(loss.epsilon, rate), rate * loss.delta)


def _sampled_epsilon(epsilon: Fraction, rate: Fraction) -> Fraction:
    """ln(1 + q(e^ε − 1)), written as ε + ln(q + (1 − q)e^{−ε}), which no ε overflows; never above ε."""
    found = (epsilon + (rate + (1 - rate) * exp(-epsilon)).log()).up
    return simpler_up(min(epsilon, max(found, Fraction(0))))
