"""Continual counters with Gaussian noise: a square root of the summing matrix, and one that needs four numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from operator import mul
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.declared.grid import Integers
from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share, spoken
from discreet.interval_arithmetic import simpler_up, sqrt
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.registry import Plain, registered
from discreet.noise import SECURE, Entropy, gaussian, gaussians
from discreet.noise.vector import LARGEST, SMALLEST
from discreet.privacy import AddRemove, Concentrated, Neighbours
from discreet.privacy.calibrate import gaussian_error
from discreet.stream.buffered_factorisation import FINE, POINT, Buffers, buffers_for
from discreet.stream.counter import held, steps_of, worst_streams
from discreet.stream.exact_convolution import nearly, products

BITS = 30  # behind the point of what is measured
_UNIT = 1 << BITS
_FINE = 70  # bits behind the point of a fading sum
_WIDEST = 1 << 50  # variance: what is added up fits 64 bits
_LONGEST = 1 << 22  # steps for which those are exact: docs/proofs/counters.md, "Products by transforms"
Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class _Factored:
    """What both counters share: noise on the grid, a price by the longest column, errors by the longest row."""

    takes: ClassVar[Takes] = Takes.EVENTS

    variance: Fraction
    horizon: int
    contribution: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            variance=positive(self.variance, "variance"),
            horizon=count(self.horizon, "horizon"),
            contribution=count(self.contribution, "contribution"),
            neighbours=self.neighbours,
        )
        if self.horizon > _LONGEST:
            raise Refusal(
                f"expected horizon <= {_LONGEST}, got horizon={self.horizon}", hint="take longer steps, or tree-counter"
            )
        if self.variance > _WIDEST:
            raise Refusal(f"expected variance <= 2^50, got variance={spoken(self.variance)}", hint="take a larger rho")

    @classmethod
    def of(cls, rho: Number, horizon: int, contribution: int = 1, neighbours: Neighbours = AddRemove()) -> Self:
        """The one that loses exactly `rho`."""
        unit = cls(Fraction(1), horizon, contribution, neighbours)
        return cls(unit.privacy.rho / positive(rho, "rho"), horizon, contribution, neighbours)

    @property
    def privacy(self) -> Concentrated:
        """The price of all running counts together: by the square of how far they move what is measured."""
        return Concentrated(self._moved / (2 * self.variance))

    @cached_property
    def _moved(self) -> Fraction:
        raise NotImplementedError

    def _shares(self, size: int) -> Floats:
        """How much the noise of each of the latest steps counts in a running count, the latest first."""
        raise NotImplementedError

    def deviation(self, step: int | None = None) -> float:
        """Standard deviation of the running count after a step; without one, the largest there is."""
        size = self.horizon if step is None else count(step, "step")
        return math.sqrt(float(self.variance) * float(np.square(self._shares(size)).sum()))

    def error(self, confidence: Number = USUAL, together: int = 1) -> int:
        """α such that with this probability one running count, whichever was chosen beforehand, is within α.

        For all of them together ask for the confidence 1 − β / horizon. Or α of the sum of those of so many counters.
        It holds while there are fewer than 2^38 events. docs/proofs/counters.md, "Errors".
        """
        return self._covering(self.deviation(), confidence, count(together, "together"))

    def window_error(self, start: int, stop: int, confidence: Number = USUAL, together: int = 1) -> int:
        """The same of what comes after step `start` up to step `stop`: one running count less another."""
        if not 0 <= start < stop <= self.horizon:
            raise Refusal(f"expected 0 <= start < stop <= {self.horizon}, got start={start} stop={stop}")
        shares, many = self._shares(stop), count(together, "together")
        moved = shares.copy()
        moved[stop - start :] -= shares[:start]
        spread = math.sqrt(float(self.variance) * float(np.square(moved).sum()))
        return self._covering(spread, confidence, many) + many  # two roundings

    def window_errors(
        self, width: int, stops: Sequence[int], confidence: Number = USUAL, together: int = 1
    ) -> tuple[int, ...]:
        """The same of windows of so many steps, by the step that each ends with; the first of them may be shorter."""
        shares, many = self._shares(max(stops, default=0)), count(together, "together")
        moved = shares.copy()
        moved[width:] -= shares[: max(0, shares.size - width)]
        spreads = np.sqrt(float(self.variance) * np.cumsum(np.square(moved)))
        return tuple(self._covering(float(spreads[stop - 1]), confidence, many) + many for stop in stops)

    def _covering(self, deviation: float, confidence: Number, many: int) -> int:
        spread = deviation * math.sqrt(many) * (1 + 1e-6)  # more than doubles can have made of it
        return _beyond(_widened(spread), 1 - share(confidence, "confidence"), self.variance) + many

    def pairs(self) -> tuple[Pair[tuple[int, ...]], ...]:
        """All events of a unit in one step: the first, which moves the most of what is measured, and a late one."""
        return worst_streams(self.horizon, self.contribution)

    def _counted(self, low: Whole, high: Whole, rng: Entropy) -> Whole:
        """Running counts of what was measured exactly, in units of 2^−30 and whole events."""
        low = low + self._noise(low.size, rng)
        measured = high.astype(np.float64) + low.astype(np.float64) / _UNIT
        counted: Whole = np.rint(nearly(self._shares(low.size), measured)).astype(np.int64)
        return counted

    def _noise(self, size: int, rng: Entropy) -> Whole:
        variance = self.variance * _UNIT**2
        if SMALLEST**2 <= variance <= LARGEST**2:
            return gaussians(variance, size, rng=rng)
        return np.array([gaussian(variance, rng=rng) for _ in range(size)], dtype=np.int64)


@dataclass(frozen=True)
class RootState:
    """What a square root counter remembers: the events of all steps, which are secret, and what was measured."""

    events: tuple[int, ...] = field(default=(), repr=False)
    measured: tuple[int, ...] = ()


@dataclass(frozen=True)
class BufferedState:
    """What a buffered counter remembers: fading sums of events, which are secret, and of what was measured."""

    step: int
    sums: tuple[int, ...] = field(repr=False)
    undone: tuple[float, ...]
    estimate: float


@registered("square-root-counter")
@dataclass(frozen=True)
class SquareRootCounter(_Factored):
    """Running count of events after each of `horizon` steps, by the square root of the matrix that adds up.

    What is measured, with discrete Gaussian noise of `variance`, are sums of all events so far with weights that fall
    as the steps lie back; a running count is a sum of these with such weights again. It remembers all steps.

    Guarantee: if a unit adds at most `contribution` to all steps together, Concentrated(contribution² · s / (2
        variance)) for all running counts, where s is about (ln horizon + 3.35) / π, the events of each step chosen
        after the counts before it; twice that where units are replaced.
    Proof: docs/proofs/counters.md, Theorem 2.
    Source: Fichtenberger, Henzinger & Upadhyay 2023; adaptively chosen events: Denisov, McMahan, Rush, Smith &
        Thakurta 2022, here by a filter.
    """

    @cached_property
    def _moved(self) -> Fraction:
        column = sum(int(weight) ** 2 for weight in _weights(self.horizon).tolist())
        return Fraction(_squared(self.contribution, self.neighbours) * column, _UNIT**2)

    def _shares(self, size: int) -> Floats:
        return _decoding(self.horizon)[:size]

    def __call__(self, steps: Integers, /, *, rng: Entropy = SECURE) -> Whole:
        """The running counts after all these steps, which are `horizon` at most."""
        events = steps_of(steps, self.horizon)
        if not events.size:
            return events
        low, high = products(_weights(self.horizon)[: events.size], events, BITS)
        return self._counted(low, high, rng)

    def start(self, rng: Entropy) -> RootState:  # noqa: ARG002  # nothing is drawn before the first step
        """Before the first step."""
        return RootState()

    def push(self, state: RootState, events: int, rng: Entropy) -> tuple[RootState, int]:
        """After one more step with so many events: what is remembered, and the running count."""
        steps = (*state.events, held(events, self.horizon))
        weights = _weights(self.horizon)[: len(steps)].tolist()
        exactly = sum(map(mul, reversed(weights), steps))
        measured = (*state.measured, exactly + gaussian(self.variance * _UNIT**2, rng=rng))
        shares = self._shares(len(steps))
        return RootState(steps, measured), round(float(np.dot(shares[::-1], np.array(measured, dtype=float))) / _UNIT)

    @property
    def room(self) -> int:
        """Characters that a state needs as JSON, whatever it says: it remembers every step."""
        return 128 + self.horizon * 80

    def encode(self, state: RootState) -> Mapping[str, Plain]:
        """As JSON holds it."""
        return {"events": list(state.events), "measured": list(state.measured)}

    def decode(self, content: Mapping[str, Any]) -> RootState:
        """As it was written."""
        return RootState(tuple(map(int, content["events"])), tuple(map(int, content["measured"])))


@registered("buffered-counter")
@dataclass(frozen=True)
class BufferedCounter(_Factored):
    """Running count of events after each of `horizon` steps, that remembers eight numbers however long it runs.

    What is measured, with discrete Gaussian noise of `variance`, is the events of a step and four fading sums of those
    before; running counts are found from what was measured. Deviations are hardly larger than those of the square root.

    Guarantee: if a unit adds at most `contribution` to all steps together, Concentrated(moved / (2 variance)) for all
        running counts, where `moved` bounds the square of how far all that is measured moves, the rounding of fading
        sums among it; the events of each step chosen after the counts before it.
    Proof: docs/proofs/counters.md, Theorem 3.
    Source: Dvijotham, McMahan, Pillutla, Steinke & Thakurta 2024, with fading sums of whole numbers.
    """

    @cached_property
    def _buffers(self) -> Buffers:
        return buffers_for(self.horizon)

    @cached_property
    def _moved(self) -> Fraction:
        column = self._buffers.column(self.horizon) * _squared(self.contribution, self.neighbours)
        lost = (1 + self._buffers.slack / (1 << (_FINE - BITS))) / _UNIT  # of one measured number, at most
        return simpler_up((sqrt(column).up + lost * sqrt(self.horizon).up) ** 2)

    def deviation(self, step: int | None = None) -> float:
        """Standard deviation of the running count after a step; without one, the largest there is."""
        size = self.horizon if step is None else count(step, "step")
        return math.sqrt(float(self.variance) * self._buffers.row(size))

    def _shares(self, size: int) -> Floats:
        return self._buffers.shares(size)

    def measured(self, sums: tuple[int, ...], events: int) -> tuple[tuple[int, ...], int]:
        """The fading sums after one more step, and what is measured in it, exactly: in units of 2^−70 and 2^−30."""
        faded = sum(map(mul, self._buffers.weights, sums)) >> (POINT + _FINE - BITS)
        kept = zip(self._buffers.kept, sums, strict=True)
        return tuple((left * each >> POINT) + (events << _FINE) for left, each in kept), (events << BITS) + faded

    def start(self, rng: Entropy) -> BufferedState:  # noqa: ARG002  # nothing is drawn before the first step
        """Before the first step."""
        nothing = (0,) * len(self._buffers.fades)
        return BufferedState(0, nothing, tuple(map(float, nothing)), 0.0)

    def push(self, state: BufferedState, events: int, rng: Entropy) -> tuple[BufferedState, int]:
        """After one more step with so many events: what is remembered, and the running count."""
        sums, exactly = self.measured(state.sums, held(events, self.horizon))
        noisy = (exactly + gaussian(self.variance * _UNIT**2, rng=rng)) / _UNIT
        scale = float(1 << POINT)
        own = noisy - sum(
            weight / scale * each for weight, each in zip(self._buffers.weights, state.undone, strict=True)
        )
        kept = zip(self._buffers.kept, state.undone, strict=True)
        undone = tuple(left / scale * each + own for left, each in kept)
        after = BufferedState(state.step + 1, sums, undone, state.estimate + own)
        return after, round(after.estimate)

    def __call__(self, steps: Integers, /, *, rng: Entropy = SECURE) -> Whole:
        """The running counts after all these steps, which are `horizon` at most.

        Fading sums are those of a column that is rounded down once, where `push` rounds them step by step; either is
        paid for.
        """
        events = steps_of(steps, self.horizon)
        if not events.size:
            return events
        low, high = products(self._buffers.rounded(self.horizon)[: events.size], events, FINE)
        return self._counted(low >> (FINE - BITS), high, rng)

    @property
    def room(self) -> int:
        """Characters that a state needs as JSON, whatever it says."""
        return 1024

    def encode(self, state: BufferedState) -> Mapping[str, Plain]:
        """As JSON holds it, doubles in hex."""
        undone: list[Plain] = [each.hex() for each in state.undone]
        return {"step": state.step, "sums": list(state.sums), "undone": undone, "estimate": state.estimate.hex()}

    def decode(self, content: Mapping[str, Any]) -> BufferedState:
        """As it was written."""
        undone = tuple(map(float.fromhex, content["undone"]))
        sums = tuple(map(int, content["sums"]))
        return BufferedState(int(content["step"]), sums, undone, float.fromhex(content["estimate"]))


def _squared(contribution: int, neighbours: Neighbours) -> int:
    """The square of how far apart neighbouring streams are, in columns: what goes and what comes are never opposite."""
    return count(contribution, "contribution") ** 2 * (1 if isinstance(neighbours, AddRemove) else 2)


def _widened(spread: float) -> float:
    """At most a thousandth more: so few numbers that their errors are found once."""
    mantissa, exponent = math.frexp(spread)
    return math.ldexp(math.ceil(mantissa * 2048) / 2048, exponent)


@lru_cache(maxsize=4096)
def _beyond(spread: float, rare: Fraction, variance: Fraction) -> int:
    """What noise of this deviation, made of draws of this variance, is beyond so rarely. See `error`."""
    normal = rare - Fraction(2, _UNIT) / sqrt(variance).down
    if normal <= rare / 2:  # so far out the law is not near enough to the normal one
        return math.ceil(spread * math.sqrt(2 * math.log(2 / rare)) * (1 + 1e-9))
    return gaussian_error(Fraction(spread) ** 2, 1 - normal)


@lru_cache(maxsize=8)
def _roots(size: int) -> Whole:
    """C(2j, j) / 4^j in units of 2^−62, each rounded down: whole numbers, so that every machine has the same."""
    found, root = [], 1 << 62
    for j in range(1, size + 1):
        found.append(root)
        root = root * (2 * j - 1) // (2 * j)
    return np.array(found, dtype=np.int64)


@lru_cache(maxsize=8)
def _weights(size: int) -> Whole:
    """A column of the matrix that is measured, in units of 2^−30."""
    rounded: Whole = (_roots(size) + (1 << 31)) >> 32
    return rounded


@lru_cache(maxsize=8)
def _decoding(size: int) -> Floats:
    """A row of the matrix that makes running counts of it: twice the square root, less what was measured."""
    shares: Floats = 2 * (_roots(size) / 2.0**62) - _weights(size) / float(_UNIT)
    return shares
