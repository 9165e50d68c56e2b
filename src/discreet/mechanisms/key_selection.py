"""Which groups may be named at all, when the names themselves come from the data.

Input is the number of *distinct units* of each key; a unit counts for at most `max_groups` keys. A key with no unit is
never named. What comes out is a set, filled in an order that depends on nothing but what is in it, and of keys that
Python holds equal it has the same one whichever came: True is named as 1. A key is text, a whole number, a truth value,
None, or a tuple of these; anything else is refused, as 1.0 is, which Python holds equal to 1 too.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Ground, Refusal
from discreet.exact import Number, count, positive, share, shown, spoken
from discreet.interval_arithmetic import exp, log, simpler_down
from discreet.mechanisms.integer_noise import GaussianVector, LaplaceVector
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.registry import registered
from discreet.mechanisms.selection import first
from discreet.noise import SECURE, Entropy, flip
from discreet.privacy import AddRemove, Approximate, Concentrated, Neighbours, Replace
from discreet.privacy.calibrate import gaussian_tail, laplace_tail

Key: TypeAlias = str | int | bool | tuple["Key", ...] | None
Counts: TypeAlias = Mapping[Key, int]
Named: TypeAlias = frozenset[tuple[Key, int]]

T = TypeVar("T")

_LONGEST = 1 << 17  # entries of a table of probabilities
_GUARD = 64  # bits of it below the last that matters
_LARGEST = 1 << 61  # no data has more units
_DEAREST = 1000  # of ε: a loss of e^1000 promises nothing


@registered("optimal-keys")
@dataclass(frozen=True)
class OptimalKeys:
    """Names each key with the largest probability that its number of units and its share of ε and δ allow.

    Guarantee: Approximate(epsilon, delta), when one unit, in at most `max_groups` keys, is added or removed.
    Proof: docs/proofs/keys.md. Each key is named by itself with π(n), at ε' = epsilon/max_groups and δ' with
        (1 − δ')^max_groups ≥ 1 − delta; π(n+1) is the most that (ε', δ') allows after π(n), rounded down.
    Source: Desfontaines, Voss, Gipson & Mandayam 2022, derived again there; Kairouz, Oh & Viswanath 2017, Theorem 3.3.
    """

    takes: ClassVar[Takes] = Takes.COUNTS

    epsilon: Fraction
    delta: Fraction
    max_groups: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            delta=share(self.delta, "delta"),
            max_groups=count(self.max_groups, "max_groups"),
            neighbours=_added_or_removed(self.neighbours),
        )
        if self.epsilon > _DEAREST:
            raise Refusal(
                f"expected epsilon <= {_DEAREST}, got epsilon={spoken(self.epsilon)}",
                hint="that promises nothing",
                ground=Ground.VALUE,
            )
        if self._steps_needed() > _LONGEST:
            raise Refusal(
                f"epsilon={shown(self.epsilon, str)} over max_groups={shown(self.max_groups)} "
                "needs a table of more than 2^17 counts",
                hint="take a larger epsilon, or laplace-keys",
            )

    @property
    def privacy(self) -> Approximate:
        """(ε, δ) as asked for."""
        return Approximate(self.epsilon, self.delta)

    @cached_property
    def chances(self) -> tuple[Fraction, ...]:
        """π(0), π(1), … up to the first that is 1."""
        return _chances(self.epsilon / self.max_groups, each(self.delta, self.max_groups))

    def _steps_needed(self) -> float:
        """About how many counts the table has, from above: either half rises as fast as the sums of δ' e^{kε'}."""
        rare = each(self.delta, self.max_groups)
        price, far = float(self.epsilon / self.max_groups), math.log(rare.denominator) - math.log(rare.numerator)
        steep = (max(0.0, math.log(price) + far) + math.log(2)) / price if price > 1e-300 else math.inf
        return 4 + 2 * min(steep + 1, math.exp(min(far, 700)))

    def error(self, confidence: Number = USUAL) -> int:
        """The smallest number of units with which a key is named with this probability."""
        sure = share(confidence, "confidence")
        return next(n for n, chance in enumerate(self.chances) if chance >= sure)

    def pairs(self) -> tuple[Pair[dict[Key, int]], ...]:
        """A unit alone in its keys; and one more in keys that are named about half the time."""
        half = self.error(Fraction(1, 2))
        return _pairs(self.max_groups, half - 1)

    def __call__(self, units: Counts, /, *, rng: Entropy = SECURE) -> frozenset[Key]:
        """The keys that may be named."""
        chances, last = self.chances, len(self.chances) - 1
        keys, numbers = _present(units)
        return ordered(key for key, n in zip(keys, numbers, strict=True) if flip(chances[min(n, last)], rng=rng))


class _Reaching(ABC):
    """Each key whose number of units, with noise, reaches a threshold."""

    takes: ClassVar[Takes] = Takes.COUNTS

    delta: Fraction
    max_groups: int
    neighbours: Neighbours

    @abstractmethod
    def _beyond(self, noise: int) -> Fraction:
        """The probability of more noise than this, rounded up."""

    @abstractmethod
    def _noisy(self, numbers: NDArray[np.int64], rng: Entropy) -> NDArray[np.int64]:
        """Numbers of units with noise."""

    def _settle(self, **price: Fraction) -> None:
        settle(
            self,
            **{name: positive(value, name) for name, value in price.items()},
            delta=share(self.delta, "delta"),
            max_groups=count(self.max_groups, "max_groups"),
            neighbours=_added_or_removed(self.neighbours),
        )

    @cached_property
    def threshold(self) -> int:
        """The smallest noisy number that is named."""
        rare = each(self.delta, self.max_groups)
        return 2 + first(lambda noise: self._beyond(noise) <= rare)

    @property
    def chance(self) -> Fraction:
        """How likely a key with as many units as the threshold is named, rounded down: above 1/2, as noise may be 0."""
        return 1 - self._beyond(0)

    def error(self, confidence: Number = USUAL) -> int:
        """A number of units with which a key is named with this probability.

        The smallest n ≥ threshold with Pr[n + noise < threshold] = Pr[noise > n − threshold] ≤ 1 − confidence.
        """
        rare = 1 - share(confidence, "confidence")
        return self.threshold + first(lambda noise: self._beyond(noise) <= rare)

    def pairs(self) -> tuple[Pair[dict[Key, int]], ...]:
        """A unit alone in its keys; and one more in keys at the threshold."""
        return _pairs(self.max_groups, self.threshold)

    def __call__(self, units: Counts, /, *, rng: Entropy = SECURE) -> Named:
        """The keys that may be named, each with its noisy number of units."""
        keys, numbers = _present(units)
        noisy = self._noisy(np.array(numbers, dtype=np.int64), rng)
        return ordered((keys[i], int(noisy[i])) for i in np.flatnonzero(noisy >= self.threshold))


@registered("laplace-keys")
@dataclass(frozen=True)
class LaplaceKeys(_Reaching):
    """Names each key whose number of units, with discrete Laplace noise, reaches a threshold; and that noisy number.

    Guarantee: Approximate(epsilon, delta), when one unit, in at most `max_groups` keys, is added or removed.
    Proof: docs/proofs/keys.md. Keys that others have too move by 1 each, at most max_groups in L1. A key of the unit
        alone is named if 1 + noise reaches the threshold, with exact probability p; some such key is, with probability
        1 − (1 − p)^max_groups at most, and the threshold keeps that below delta.
    Source: Korolova, Kenthapadi, Mishra & Ntoulas 2009, here for discrete noise and several keys.
    """

    epsilon: Fraction
    delta: Fraction
    max_groups: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        self._settle(epsilon=self.epsilon)

    @property
    def scale(self) -> Fraction:
        """Of the noise: max_groups/ε."""
        return self.max_groups / self.epsilon

    @property
    def privacy(self) -> Approximate:
        """(ε, δ) as asked for."""
        return Approximate(self.epsilon, self.delta)

    def _beyond(self, noise: int) -> Fraction:
        return laplace_tail(noise, self.scale).up / 2

    def _noisy(self, numbers: NDArray[np.int64], rng: Entropy) -> NDArray[np.int64]:
        return LaplaceVector(self.scale, self.max_groups)(numbers, rng=rng)


@registered("gaussian-keys")
@dataclass(frozen=True)
class GaussianKeys(_Reaching):
    """Names each key whose number of units, with discrete Gaussian noise, reaches a threshold; and that noisy number.

    Guarantee: Concentrated(rho, delta), when one unit, in at most `max_groups` keys, is added or removed.
    Proof: docs/proofs/keys.md. As for `LaplaceKeys`, with max_groups as the squared L2 sensitivity of the other keys;
        the tail of the discrete Gaussian is enclosed, and its upper end counts.
    Source: Gopi, Gulhane, Kulkarni, Shen, Shokouhi & Yekhanin 2020, here for discrete noise; Canonne, Kamath & Steinke
        2020, Theorem 4; Bun & Steinke 2016, Definition 8.1.
    """

    rho: Fraction
    delta: Fraction
    max_groups: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        self._settle(rho=self.rho)

    @property
    def variance(self) -> Fraction:
        """Of the noise: max_groups/(2ρ)."""
        return self.max_groups / (2 * self.rho)

    @property
    def privacy(self) -> Concentrated:
        """(ρ, δ) as asked for."""
        return Concentrated(self.rho, self.delta)

    def _beyond(self, noise: int) -> Fraction:
        return gaussian_tail(noise, self.variance).up / 2

    def _noisy(self, numbers: NDArray[np.int64], rng: Entropy) -> NDArray[np.int64]:
        return GaussianVector(self.variance, self.max_groups)(numbers, rng=rng)


def each(delta: Fraction, groups: int) -> Fraction:
    """1 − (1 − δ)^{1/groups}, rounded down: what each of `groups` independent tests may fail by.

    At least δ/groups, which (1 − δ/groups)^groups ≥ 1 − δ allows (Bernoulli), and which is above 0 where digits end.
    """
    if groups == 1:
        return delta
    root = (1 - (log(1 - delta) / groups).exp()).down
    return max(delta / groups, simpler_down(root) if root > 0 else root)


def canonical(key: Key) -> Key:
    """The one that stands for all keys equal to this: True is 1, also within a tuple.

    A mapping keeps whichever of two equal keys came first, so what is named would tell of the order of the rows. What
    is no key is refused in words that tell nothing of it: it came from rows.
    """
    if isinstance(key, tuple):
        return tuple(canonical(part) for part in key)
    if isinstance(key, (int, np.integer, np.bool_)):
        return int(key)
    if key is not None and not isinstance(key, str):
        raise Refusal(
            "expected keys that are text, whole numbers, true or false, None, or tuples of these",
            hint="write others as text, each value in one spelling",
            ground=Ground.VALUE,
        )
    return key if key is None else str(key)


def ordered(chosen: Iterable[T]) -> frozenset[T]:
    """A set whose inner order, which shows, is a function of its members: they go in sorted by their text."""
    return frozenset(sorted(chosen, key=repr))


@lru_cache(maxsize=32)
def _chances(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, ...]:
    """π(0) = 0 and π(n+1) = min(e^ε π(n) + δ, 1 − e^−ε (1 − π(n) − δ), 1), each rounded down to one binary grid."""
    bits = delta.denominator.bit_length() - delta.numerator.bit_length() + 1 + 2 * _GUARD
    one = 1 << bits
    digits = bits * 3 // 10 + 10
    grow, shrink = math.floor(exp(epsilon, digits).down * one), math.ceil(exp(-epsilon, digits).up * one)
    rare, table = math.floor(delta * one), [0]
    while table[-1] < one:
        now = table[-1]
        rest = max(0, one - now - rare)
        table.append(min((grow * now >> bits) + rare, one - (-(-shrink * rest >> bits)), one))
    return tuple(Fraction(chance, one) for chance in table)


def _present(units: Counts) -> tuple[list[Key], list[int]]:
    """Keys that some unit has, and the number of units of each. All are looked at before any is left out."""
    keys = [canonical(key) for key in units]
    if any(type(n) is bool or not isinstance(n, (int, np.integer)) for n in units.values()):
        raise Refusal(
            "expected whole numbers of units", hint="count the distinct units of each key", ground=Ground.VALUE
        )
    numbers = [min(int(n), _LARGEST) for n in units.values()]
    there = [i for i, n in enumerate(numbers) if n > 0]
    return [keys[i] for i in there], [numbers[i] for i in there]


def _pairs(groups: int, number: int) -> tuple[Pair[dict[Key, int]], ...]:
    names: list[Key] = [f"key {i}" for i in range(groups)]
    common, more = dict.fromkeys(names, max(1, number)), dict.fromkeys(names, max(1, number) + 1)
    return (
        Pair({}, dict.fromkeys(names, 1), "a unit alone in as many keys as it may have"),
        Pair(common, more, "a unit more in as many keys as it may have, where it matters most"),
    )


def _added_or_removed(neighbours: Neighbours) -> Neighbours:
    if isinstance(neighbours, Replace):
        raise Refusal(
            f"expected AddRemove neighbours, got {neighbours}: a unit replaced may leave its keys and enter others",
            hint="take AddRemove: replacing is removing, then adding",
        )
    return neighbours
