"""The profile of Gaussian noise on a Poisson sample, in closed form, and a law on a grid that lies above it.

With q the rate, m the shift and o = (r − 1 + q)/q, r the likelihood ratio at an outcome, the outcome is
x = ln(o)/m + m/2. Proof, and what the floats may cost: docs/proofs/profile.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats: TypeAlias = NDArray[np.float64]
Direction: TypeAlias = Literal["remove", "add"]

UNIT = 2.0**-53  # a correctly rounded operation is off by this much, relatively
_DEVIATIONS = 13  # a normal tail beyond is 6e-39
_FAINTEST = 1e-290  # no error is below it, where a float would vanish and be multiplied by e^ε < 1e9
_FAR = 37.0  # beyond, Φ(−x) vanishes as a float while o Φ(−x) may still be seen


def sampled_reach(rate: float, shift: float, direction: Direction) -> tuple[float, float]:
    """The smallest and the largest loss worth a grid point."""
    far = math.log1p(rate * math.expm1(shift * (_DEVIATIONS + shift / 2)))
    return (math.log1p(-rate), far) if direction == "remove" else (-far, -math.log1p(-rate))


def sampled_tails(rate: float, shift: float, step: float, direction: Direction) -> tuple[int, Floats]:
    """The first grid point, and from there on at least Pr[loss ≥ i·h] of a law that dominates; last, an infinite loss.

    The law that connects the dots of the profile has Pr[loss ≥ i·h] = (δ_{i−1} − e^{−h} δ_i)/(1 − e^{−h}); that is
    raised by what the floats may have lost, and a larger tail everywhere is a larger profile.
    """
    low, high = sampled_reach(rate, shift, direction)
    first, last = math.floor(low / step), math.ceil(high / step) + 1  # one more: `high` is rounded
    points = np.arange(first, last + 1, dtype=np.float64) * step
    delta, error = (_removing if direction == "remove" else _adding)(points, rate, shift)
    tails = (delta[:-1] - math.exp(-step) * delta[1:] + 2 * (error[:-1] + error[1:])) / -math.expm1(-step)
    tails = np.minimum(1.0, np.maximum.accumulate(tails[::-1])[::-1] * (1 + 32 * UNIT))
    return first, np.concatenate([[1.0], tails, [float(delta[-1] + error[-1])]])


@dataclass(frozen=True)
class _Outcomes:
    """Outcomes that are surely no less telling than those of the given losses; `odds` are their o, `off` its error."""

    odds: Floats
    x: Floats
    slack: Floats  # how much further than o the odds may lie, absolutely
    off: Floats  # e^{mx − m²/2} is within so many roundings of the odds


def _outcomes(losses: Floats, rate: float, shift: float, way: int) -> _Outcomes:
    """Of e^losses as the likelihood ratio; moved up (way = 1) or down (way = −1) by more than floats may have erred."""
    growth = np.expm1(losses)
    exact = (growth + rate) / rate
    slack = UNIT * (24 * np.abs(growth) + 4 * np.abs(losses) * np.exp(losses) + 8 * rate) / rate
    moved = exact + way * slack
    off = 16 * np.abs(np.log(np.maximum(moved, 1e-300))) + 8 * shift**2 + 16
    moved = np.maximum(0.0, moved * (1 + way * 2 * UNIT * off))
    with np.errstate(divide="ignore"):
        x = np.log(moved) / shift + shift / 2
    return _Outcomes(moved, x, 2 * slack + 4 * UNIT * off * moved, off)


def _removing(losses: Floats, rate: float, shift: float) -> tuple[Floats, Floats]:
    """q (Φ(m − x) − o Φ(−x)), which falls with x; where the ratio is below 1 − q, 1 − e^ε."""
    out = _outcomes(losses, rate, shift, -1)
    gain, below, far = special.ndtr(shift - out.x), special.ndtr(-out.x), np.maximum(out.x, _FAR)
    mills = np.exp(-0.5 * np.square(far - shift)) * special.erfcx(far / math.sqrt(2)) / 2  # o Φ(−x) = φ(x − m) r(x)
    cost = np.where(out.x > _FAR, mills, out.odds * below)
    moved = out.slack * np.where(out.x > _FAR, mills / np.maximum(out.odds, 1.0), below)
    delta = np.where(out.odds > 0, rate * (gain - cost), -np.expm1(losses))
    units = (_tail_units(out.x - shift) + 16) * gain + (_tail_units(out.x) + out.off + 16) * cost
    error = rate * (UNIT * units + moved) + 16 * UNIT * (1 + np.abs(losses)) * np.abs(delta)
    return np.maximum(0.0, delta), error + _FAINTEST


def _adding(losses: Floats, rate: float, shift: float) -> tuple[Floats, Floats]:
    """e^ε q (o Φ(x) − Φ(x − m)), which grows with x; 0 where the ratio e^−ε is below 1 − q."""
    out = _outcomes(-losses, rate, shift, 1)
    gain, cost = special.ndtr(out.x), special.ndtr(out.x - shift)
    scale = np.exp(losses) * rate
    delta = scale * (out.odds * gain - cost)
    units = (_tail_units(-out.x) + out.off + 16) * out.odds * gain + (_tail_units(shift - out.x) + 16) * cost
    error = scale * (UNIT * units + out.slack * gain) + 16 * UNIT * (1 + np.abs(losses)) * np.abs(delta)
    return np.maximum(0.0, delta), error + _FAINTEST


def _tail_units(x: Floats) -> Floats:
    """Roundings within which Φ(−x) is trusted: a few, and in the tail what rounding x² does to e^{−x²/2}."""
    return np.asarray(64 + 8 * np.square(np.clip(x, 0.0, 100.0)))
