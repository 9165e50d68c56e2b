"""The whole profile of a batch: what (ε, δ) its events keep together.

A profile is a report on a closed batch, never a filter: all events must be fixed before the first answer is seen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import Refusal
from discreet.exact import ZERO, Number, count, nonnegative, positive, probability, share, shown, spoken
from discreet.interval_arithmetic import simpler_up
from discreet.privacy.event import (
    AnyMechanism,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    SampledGaussianNoise,
)
from discreet.privacy.loss import AddRemove, Guarantee, Neighbours
from discreet.privacy.tradeoff import Gaussian

if TYPE_CHECKING:
    from discreet.privacy.convolve import Aim, Composed

SMALLEST_DELTA = Fraction(1, 10**10)
_BEYOND = Fraction(10**14)  # an ε far above what all events that are computed may lose


@dataclass(frozen=True)
class Profile:
    """Events that happened together, with their counts: a privacy loss distribution that is worked out when asked.

    Guarantee: `delta_at` and `epsilon_at` never promise more than the events keep, for the neighbours under which each
        event's sensitivity was bounded; the mechanisms may be chosen adaptively, their parameters may not.
    Proof: docs/proofs/profile.md, which says what it trusts of floats. Gaussian noise composes exactly (its μ² add up);
        every other loss is put on a grid from above and convolved, and what floats may have lost is added to δ.
    """

    events: frozenset[tuple[Event, int]] = frozenset()

    @classmethod
    def of(cls, event: Event) -> Profile:
        """One event, once."""
        return cls(frozenset([(event, 1)]))

    @classmethod
    def pure(cls, epsilon: Number) -> Profile:
        """Any ε-private mechanism; for the neighbours its ε is for."""
        return cls.of(AnyMechanism(positive(epsilon, "epsilon"), ZERO))

    @classmethod
    def approximate(cls, epsilon: Number, delta: Number) -> Profile:
        """Any (ε, δ)-private mechanism; for the neighbours its ε is for."""
        return cls.of(AnyMechanism(nonnegative(epsilon, "epsilon"), probability(delta, "delta")))

    @classmethod
    def laplace(cls, epsilon: Number) -> Profile:
        """Continuous Laplace noise on one real number, ε = sensitivity/scale; for the neighbours of that sensitivity.

        Discrete Laplace noise loses more: for a count it is exactly as bad as any ε-private mechanism.
        """
        return cls.of(LaplaceNoise(positive(epsilon, "epsilon")))

    @classmethod
    def discrete_laplace(cls, epsilon: Number, sensitivity: int = 1) -> Profile:
        """Discrete Laplace noise on one whole number, ε = sensitivity/scale; for the neighbours of that sensitivity."""
        return cls.of(DiscreteLaplaceNoise(positive(epsilon, "epsilon"), count(sensitivity, "sensitivity")))

    @classmethod
    def gaussian(cls, sigma: Number) -> Profile:
        """Continuous Gaussian noise, σ in units of the L2 sensitivity; for the neighbours of that sensitivity."""
        return cls.of(GaussianNoise(positive(sigma, "sigma")))

    @classmethod
    def discrete_gaussian(cls, sigma: Number, sensitivity: int = 1) -> Profile:
        """Discrete Gaussian noise of parameter σ on one whole number; for the neighbours of that sensitivity."""
        return cls.of(DiscreteGaussianNoise(positive(sigma, "sigma"), count(sensitivity, "sensitivity")))

    @classmethod
    def poisson_gaussian(cls, rate: Number, sigma: Number) -> Profile:
        """Gaussian noise on a Poisson sample, σ in units of one unit's L2 norm; add/remove neighbours only."""
        part = positive(rate, "rate")
        if part > 1:
            raise Refusal(f"expected 0 < rate <= 1, got rate={shown(rate, str)}")
        return cls.gaussian(sigma) if part == 1 else cls.of(SampledGaussianNoise(part, positive(sigma, "sigma")))

    @classmethod
    def together(cls, profiles: Iterable[Profile]) -> Profile:
        """All of these."""
        counts: Counter[Event] = Counter()
        for profile in profiles:
            counts.update(dict(profile.events))
        return cls(frozenset(counts.items()))

    def __str__(self) -> str:
        return f"Profile({sum(times for _, times in self.events)} mechanisms, {len(self.events)} different)"

    def __add__(self, other: Profile) -> Profile:
        if not isinstance(other, Profile):
            return NotImplemented
        return Profile.together([self, other])

    def __rmul__(self, times: int) -> Profile:
        times = count(times, "times", least=0)
        return Profile(frozenset((event, times * once) for event, once in self.events if times))

    def __le__(self, other: Profile) -> bool:
        """Known to lose no more: the other has all our events at least as often, and at least our Gaussian noise."""
        if not isinstance(other, Profile):
            return NotImplemented
        theirs = dict(other.events)
        fewer = all(times <= theirs.get(event, 0) for event, times in self._grainy)
        return fewer and self._gaussian <= other._gaussian

    def group(self, size: int) -> Profile:
        """Refused for more than one: the profile of a group is not a function of the profile of its members."""
        if count(size, "size") > 1:
            hint = "convert it to Approximate first"
            raise Refusal(f"group privacy of {self} for {size} units is not known", hint=hint)
        return self

    def under(self, neighbours: Neighbours) -> Guarantee[Profile]:
        """The whole sentence. Poisson samples need add/remove neighbours, other events those of their sensitivity."""
        sampled = [event for event, _ in self.events if isinstance(event, SampledGaussianNoise)]
        if sampled and not isinstance(neighbours, AddRemove):
            raise Refusal(f"{sampled[0]} is bounded for adding or removing one unit, not for {neighbours}")
        return Guarantee(self, neighbours)

    def delta_at(self, epsilon: Number) -> Fraction:
        """A δ for which the events are together (epsilon, δ)-private, as small as this route finds one."""
        target = nonnegative(epsilon, "epsilon")
        if not self._grainy:
            return self._gaussian.delta_at(target)
        from discreet.privacy.convolve import near_epsilon  # noqa: PLC0415  # numpy and scipy load when needed

        near = math.nextafter(float(min(target, _BEYOND)), 0.0)
        return max(Fraction(composed.delta_at(near)) for composed in self._composed(near_epsilon(near)))

    def epsilon_at(self, delta: Number) -> Fraction:
        """An ε at which the events are together (ε, delta)-private, as small as this route finds one; δ from 1e-10 up.

        Floats found this bound and derived errors were added to it; a promise at a smaller δ deserves exact arithmetic.
        """
        total = share(delta, "delta")
        if total < SMALLEST_DELTA:
            hint = "for so small a delta use compose.optimal, Gaussian, Concentrated or Renyi"
            raise Refusal(f"a profile is computed for delta >= 1e-10, got delta={spoken(total)}", hint=hint)
        if not self._grainy:
            return self._gaussian.epsilon_at(total)
        from discreet.privacy.convolve import near_delta  # noqa: PLC0415  # numpy and scipy load when needed

        near = math.nextafter(float(total), 0.0)
        epsilon = max(composed.epsilon_at(near) for composed in self._composed(near_delta(near)))
        if math.isinf(epsilon):
            raise Refusal(f"{self} fails with a probability above delta={spoken(total)}", hint="allow a larger delta")
        return Fraction(epsilon)

    @property
    def _grainy(self) -> list[tuple[Event, int]]:
        """Every event that needs a grid, in an order that does not depend on how they came."""
        rest = ((event, times) for event, times in self.events if not isinstance(event, GaussianNoise))
        return sorted(rest, key=lambda pair: (type(pair[0]).__name__, astuple(pair[0])))

    @property
    def _gaussian(self) -> Gaussian:
        """All Gaussian noise as one (Dong, Roth & Su 2022, Corollary 3.3)."""
        sizes = (simpler_up(n / e.sigma**2, 40) for e, n in self.events if isinstance(e, GaussianNoise))
        return Gaussian(sum(sizes, ZERO))

    def _composed(self, aim: Aim) -> list[Composed]:
        """The events on a grid, once for each direction that matters."""
        from discreet.privacy.convolve import compose  # noqa: PLC0415  # numpy and scipy load when needed
        from discreet.privacy.loss_grid import gauge  # noqa: PLC0415

        grainy = self._grainy
        size = gauge(grainy, self._gaussian.mu_squared)
        lopsided = any(isinstance(event, SampledGaussianNoise) for event, _ in grainy)
        return [compose(grainy, size, way, aim) for way in (("remove", "add") if lopsided else ("remove",))]
