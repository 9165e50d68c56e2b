"""Planner of sums: how far off each scheme will be, for so many people, failures and honest ones, and which is best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.aggregate.diluted_noise import DilutedGeometric, honest_of
from discreet.aggregate.gaussian_shares import GaussianShares
from discreet.aggregate.tree_of_people import TreeSum
from discreet.errors import Refusal
from discreet.exact import Number, count, exact, positive
from discreet.privacy import Approximate, Concentrated, Guarantee, Pure, Replace, shuffled
from discreet.privacy.calibrate import concentrated_for

_GROUP = 1024  # people of a masked sum: with more, everybody makes several groups
_ALL = 1 << 12
_FINEST, _LARGEST = 32, 16  # steps of 1 in ε, and by how much it may be larger than that of the crowd


@dataclass(frozen=True)
class Forecast:
    """Standard deviation of the noise of a scheme; None where it cannot be used, and why."""

    scheme: str
    deviation: float | None
    remark: str = ""


def plan(  # noqa: PLR0913  # what an error depends on
    people: int,
    failures: int,
    epsilon: Number,
    delta: Number,
    *,
    limit: int = 1,
    honest: Number = 1,
    mixer: bool = False,
) -> tuple[Forecast, ...]:
    """What each scheme's sum is off by, the best first, then those that cannot be used.

    `failures` people fail at random and are not in the sum; `honest` is the share of people who do not work with the
    aggregator, failing or not. All schemes have the same ε and δ for one epoch. `local` needs no cryptography and
    nobody's honesty; `shuffled`, with a `mixer`, is the same bits mixed by somebody who is trusted with that, and takes
    a second to compute.
    """
    count(people, "people", least=2)
    if not 0 <= count(failures, "failures", least=0) < people:
        raise Refusal(f"expected failures < people, got failures={failures} people={people}")
    rho = concentrated_for(epsilon, delta)
    price = Approximate(epsilon, delta)
    capacity = 1 << (people - 1).bit_length()
    share = exact(honest, "honest")
    tree = TreeSum("plan", capacity, price, share, limit)
    finer = TreeSum("plan", capacity, Concentrated(rho.rho), share, limit)
    all_of = "everybody has to be there"
    together = failures == 0
    found = [
        Forecast("diluted", DilutedGeometric.of(epsilon, delta, people, limit, honest=share).deviation)
        if together
        else Forecast("diluted", None, all_of),
        Forecast("gaussian", GaussianShares(rho.rho, people, honest_of(people, share), limit).deviation)
        if together
        else Forecast("gaussian", None, all_of),
        _masked(people, failures, rho, honest_of(people, share), limit),
        Forecast("tree", tree.expected(people, failures)),
        Forecast("tree-gaussian", finer.expected(people, failures)),
        Forecast("local", local_deviation(people - failures, epsilon, limit)),
    ]
    if mixer:
        found.append(_shuffled(people, failures, honest_of(people, share), price, limit))
    return tuple(sorted(found, key=lambda one: math.inf if one.deviation is None else one.deviation))


def local_deviation(people: int, epsilon: Number, limit: int = 1) -> float:
    """Of a sum estimated from randomized responses: of bits exactly, of larger values at most.

    A value x ≤ limit is made a bit, which is 1 with probability x/limit, and that is randomized (Duchi, Jordan &
    Wainwright 2018): the variance of one is limit² (B² − (2x/limit − 1)²)/4 with B = (e^ε + 1)/(e^ε − 1).
    """
    spread = 1 / math.tanh(float(positive(epsilon, "epsilon")) / 2)
    centre = 1.0 if limit == 1 else 0.0
    return limit * math.sqrt(people * (spread**2 - centre)) / 2


def _shuffled(people: int, failures: int, honest: int, price: Approximate, limit: int) -> Forecast:
    """Randomized response with coins that are honester, as they hide among those of the honest who did not fail."""
    crowd = honest - failures
    if crowd < 1:
        return Forecast("shuffled", None, "all who are honest may fail")
    own = crowd_epsilon(crowd, price.epsilon, price.delta)
    remark = f"each at epsilon {float(own):g}; trusts who mixes the reports"
    return Forecast("shuffled", local_deviation(people - failures, own, limit), remark)


@lru_cache(maxsize=256)
def crowd_epsilon(honest: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ε, in steps of 1/32, of randomized bits that among so many honest ones are (epsilon, delta)-private.

    By the bound for binary response of docs/proofs/shuffle.md; never less than epsilon, which needs no crowd.
    """
    least, most = 0, _FINEST * _LARGEST
    while most - least > 1:
        middle = (least + most) // 2
        bit = Guarantee(Pure(epsilon + Fraction(middle, _FINEST)), Replace())
        if shuffled(bit, honest, delta=delta, randomizer="binary").loss.epsilon <= epsilon:
            least = middle
        else:
            most = middle
    return epsilon + Fraction(least, _FINEST)


def curator_deviation(epsilon: Number, limit: int = 1) -> float:
    """Of the discrete Laplace noise that a trusted curator would add."""
    return 1 / (math.sqrt(2) * math.sinh(float(positive(epsilon, "epsilon")) / limit / 2))


def _masked(people: int, failures: int, rho: Concentrated, honest: int, limit: int) -> Forecast:
    """Masked sums, in groups where there are many people: a group has room for four deviations more of failures."""
    groups = 1 if people <= _ALL else math.ceil(people / _GROUP)
    size = people // groups
    gone, bad = failures, people - honest
    remark = ""
    if groups > 1:
        gone, bad = (math.ceil(size * k / people + 4 * math.sqrt(size * k / people)) if k else 0 for k in (gone, bad))
        remark = f"in {groups} groups"
    if (size + bad) // 2 + 1 > size - gone:
        return Forecast("masked", None, "too many may fail or collude: more than half of the honest have to survive")
    noise = GaussianShares(rho.rho, size, size - gone - bad, limit)
    survivors = size * (people - failures) / people
    return Forecast("masked", math.sqrt(groups * float(noise.variance) * survivors), remark)
