"""Amplification: a mechanism promises more to each unit where it sees a secret sample, or reports in no order.

Sampling: the sample must stay secret and be drawn afresh for every use. Proofs: docs/proofs/subsampling.md.

Shuffling: if everybody uses one and the same ε₀-private randomizer, each honest report is a clone with some
probability: as likely to look like yours before your value changed as after. Among enough clones the change is hardly
seen (Feldman, McMillan & Talwar 2021). Proof, and the pair of laws that is computed: docs/proofs/shuffle.md.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import Number, count, nonnegative, positive, share
from discreet.interval_arithmetic import UNIT, Interval, exp, log, pi, simpler_up
from discreet.privacy.loss import AddRemove, Approximate, Guarantee, Pure, Replace

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
    less = (epsilon + (rate + (1 - rate) * exp(-epsilon)).log()).up
    return simpler_up(min(epsilon, max(less, Fraction(0))))


Floats: TypeAlias = NDArray[np.float64]

_DEVIATIONS = 10  # counts further from their mean are not looked at; their probability is added to δ
_COUNTS = 1 << 17  # of clones that are told apart; where there are more, the smallest stands for all
_LOOKS, _GLANCES = 160, 16  # counts for which δ is worked out, each standing for those up to the next; and roughly
_FAINTEST = Fraction(1, 10**290)  # added to every δ, for what is too small for a float
_FAINT_LOG = -668  # below the logarithm of _FAINTEST, which stands for whatever is fainter still
_FAR = 24  # terms of a sum are left out once they are e^-24 of the first
_SMALL = 1000  # tosses up to which a binomial coefficient is written out
_DECIMALS = Context(prec=34, Emax=MAX_EMAX, Emin=MIN_EMIN)
_LOG_2, _LOG_2_PI = _DECIMALS.ln(Decimal(2)), (2 * pi()).log().low
_SPARE = Decimal("1e-20")  # of a logarithm of terms below 1e11 after thirty roundings to 34 digits


class Clones:
    """The clones among `reports` honest reports of ε₀-private randomizers."""

    def __init__(
        self, epsilon: Fraction | float, reports: int, probability: Fraction | float, looks: int = _LOOKS
    ) -> None:
        self._price, self._reports, self._chance, self._looks = Fraction(epsilon), reports, Fraction(probability), looks
        others, chance = reports - 1, self._chance
        mean = others * float(chance)
        reach = _DEVIATIONS * math.sqrt(mean * (1 - float(chance))) + 2 * _DEVIATIONS**2
        low, high = max(0, math.floor(mean - reach)), min(others, math.ceil(mean + reach))
        if high - low >= _COUNTS:  # then all these counts are nearly the same; fewer clones hide less
            high = others
            self._counts, self._chances = [low], [Fraction(1)]
        else:
            weights = binomial(low, high, others, chance)
            starts = _starts(weights, looks)
            self._counts = [low + int(start) for start in starts]
            self._chances = [Fraction(x) for x in np.add.reduceat(weights, starts)]
        self._unseen = chernoff(low - 1, others, chance) + chernoff(high + 1, others, chance)

    def delta_at(self, epsilon: Fraction | float) -> Fraction:
        """An upper bound on the hockey-stick divergence of the two laws, 0 ≤ epsilon < ε₀.

        Given C = c, an outcome is more than e^ε times likelier under the first law where more than (c + 1) t are of the
        first kind. From the least such number a on, the two laws differ by Pr[A = a − 1] (q − e^ε (1−q) −
        (e^ε − 1) R), A ~ Binomial(c, ½) and R = Pr[A ≥ a]/Pr[A = a − 1].
        """
        target = Fraction(epsilon)
        if target >= self._price:
            return Fraction(0)
        full, part = exp(self._price), exp(target)
        edge, growth = ((full - part) / (1 + full)).high, max(Decimal(0), (part - 1).low)
        t = (part * full - 1) / ((full - 1) * (1 + part))
        seen = sum(
            (chance * _apart(c, t, edge, growth) for c, chance in zip(self._counts, self._chances, strict=True)),
            Fraction(0),
        )
        return min(Fraction(1), seen + self._unseen + _FAINTEST)

    def epsilon_at(self, delta: Fraction | float) -> Fraction:
        """An ε with `delta_at(ε)` at most δ, as small as a search finds one; at most ε₀, which always is enough."""
        rare = Fraction(delta)
        if self.delta_at(0) <= rare:
            return Fraction(0)
        below = float(self._price) * (1 - 1e-12)
        if self._unseen >= rare or self.delta_at(below) >= rare:
            return self._price
        low, high = 0.0, below
        if self._looks > _GLANCES:
            rough = float(Clones(self._price, self._reports, self._chance, _GLANCES).epsilon_at(rare))
            low, high = (0.9 * rough, rough) if self._crosses(0.9 * rough, rough, rare) else (low, high)
        root, step = self._root(low, high, rare), 1e-6
        while self.delta_at(root) > rare:
            root, step = root * (1 + step), 2 * step
        return min(Fraction(root), self._price)

    def _crosses(self, low: float, high: float, rare: Fraction) -> bool:
        return 0 < low < high < self._price and self.delta_at(low) > rare >= self.delta_at(high)

    def _root(self, low: float, high: float, rare: Fraction) -> float:
        """About where `delta_at` crosses, between one ε where it is larger and one where it is not."""
        from scipy import optimize  # noqa: PLC0415  # loads when needed

        aim, least = float(log(rare).low), 1e-12 * high  # brentq's usual xtol would be coarser than a small ε₀
        root = optimize.brentq(lambda e: float(log(self.delta_at(e)).low) - aim, low, high, xtol=least, rtol=1e-6)
        return max(float(root), least)


def _starts(weights: Floats, looks: int) -> NDArray[np.int64]:
    """Where to look: everywhere if that is not often, else closer together where counts are likelier; all is proved."""
    if len(weights) <= 4 * looks:
        return np.arange(len(weights))
    roots = np.sqrt(weights)
    reached = np.cumsum(roots / roots.sum() + 1 / len(weights))
    return np.unique(np.searchsorted(reached, np.linspace(0.0, 2.0, looks, endpoint=False)))


def _apart(clones: int, t: Interval, edge: Decimal, growth: Decimal) -> Fraction:
    """At least how far the two laws are apart given so many clones."""
    firsts = {min(math.floor(end * (clones + 1)) + 1, clones + 1) for end in (t.down, t.up)}  # mostly one number
    return max(_beyond(clones, a, edge, growth) for a in firsts)


def _beyond(clones: int, a: int, edge: Decimal, growth: Decimal) -> Fraction:
    gain = Fraction(edge) - Fraction(growth) * tail_ratio(a, clones)
    return gain * fair(a - 1, clones) if gain > 0 else Fraction(0)


def binomial(low: int, high: int, trials: int, probability: Fraction) -> Floats:
    """At least Pr[C = c | low ≤ C ≤ high] for each of these counts, from the ratios of neighbours.

    A ratio is right to 3 roundings, a product of i of them to 4i, and a sum of so many to as many more.
    """
    mode = min(high, max(low, int((trials + 1) * probability)))
    odds = float(probability / (1 - probability))
    up, down = np.arange(mode, high, dtype=np.float64), np.arange(mode, low, -1, dtype=np.float64)
    above, below = np.cumprod((trials - up) / (up + 1) * odds), np.cumprod(down / (trials - down + 1) / odds)
    weights = np.concatenate([below[::-1], [1.0], above])
    return np.asarray(weights / weights.sum() * (1 + 16 * len(weights) * UNIT))


def chernoff(beyond: int, trials: int, probability: Fraction) -> Fraction:
    """At least the probability of a count this far out or further: e^{−n KL(beyond/n ‖ p)} (Chernoff 1952)."""
    if not 0 <= beyond <= trials or trials == 0:
        return Fraction(0)
    divergence = Interval.of(0)
    seen = Fraction(beyond, trials)
    for part, chance in ((seen, probability), (1 - seen, 1 - probability)):
        divergence += part * log(part / chance) if part else 0
    return min(Fraction(1), (-(trials * divergence)).exp().up)


def tail_ratio(first: int, tosses: int) -> Fraction:
    """At most Pr[A ≥ first]/Pr[A = first − 1] for A ~ Binomial(tosses, ½), first > tosses/2: its leading terms.

    Each is the one before times a ratio of whole numbers: i roundings of ratios, i of products, and those of the sum.
    """
    if first > tosses:
        return Fraction(0)
    slope = max(1e-12, math.log(first / (tosses - first + 1)))
    terms = min(tosses - first + 1, math.ceil(min(_FAR / slope, math.sqrt(_FAR * tosses / 2))) + 1)
    i = np.arange(terms, dtype=np.float64)
    total = float(np.cumprod((tosses - first + 1 - i) / (first + i)).sum())
    return Fraction(total * (1 - 8 * terms * UNIT))


def fair(heads: int, tosses: int) -> Fraction:
    """At least Pr[Binomial(tosses, ½) = heads]: written out, or by Stirling's series cut where it is too large.

    ln n! = n ln n − n + ½ ln 2πn + s(n), 1/12n − 1/360n³ < s(n) < 1/12n − 1/360n³ + 1/1260n⁵ (Robbins 1955 has the
    first, and the series envelops its limit).
    """
    tails = tosses - heads
    if tosses <= _SMALL:
        return Fraction(math.comb(tosses, heads), 1 << tosses)
    if not heads or not tails:
        return _FAINTEST
    with localcontext(_DECIMALS) as context:
        n, h, r = Decimal(tosses), Decimal(heads), Decimal(tails)
        log_n, log_h, log_r = n.ln(), h.ln(), r.ln()
        half = (log_n - log_h - log_r - _LOG_2_PI) / 2
        logs = n * (log_n - _LOG_2) - h * log_h - r * log_r + half + _stirling(n) - _stirling(h) - _stirling(r)
        above = logs + 1 / (1260 * n**5) + _SPARE
        return Fraction(context.next_plus(above.exp())) if above > _FAINT_LOG else _FAINTEST


def _stirling(n: Decimal) -> Decimal:
    """The first two terms of Stirling's series."""
    return (1 - 1 / (30 * n * n)) / (12 * n)
