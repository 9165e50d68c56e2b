"""One measure into another, where a theorem says so, rounded against us. Proofs: docs/proofs/conversions.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol, TypeVar, runtime_checkable

from discreet.errors import Refusal
from discreet.exact import FAR, ZERO, Number, probability, spoken
from discreet.interval_arithmetic import WIDTH, exp, least, log, normal_tail, simpler_up
from discreet.privacy.loss import Approximate, Concentrated, Loss, Pure, best_order
from discreet.privacy.renyi import Renyi
from discreet.privacy.tradeoff import Gaussian

T = TypeVar("T", bound=Loss)


@runtime_checkable
class KnowsEpsilon(Protocol):
    """A loss with a faster way to its own ε than a search over its profile."""

    def epsilon_at(self, delta: Number, /) -> Fraction:
        """An ε for which the loss is (ε, delta)-private."""
        ...


def convert(loss: Loss, to: type[T], *, delta: Number | None = None) -> T:
    """What `loss` promises in the measure `to`; refuses where nothing follows.

    `delta` is the δ of the result. Approximate needs it from every measure that has no finite ε of its own, and takes
    it from the others, whose ε it lowers; no other measure takes it.
    """
    if delta is not None and to is not Approximate:
        raise Refusal(f"delta={delta} has no meaning for {to.__name__}", hint="leave it out")
    if isinstance(loss, to) and delta is None:
        return loss
    rule = _RULES.get(to)
    converted = rule(loss, None if delta is None else probability(delta, "delta")) if rule else None
    if not isinstance(converted, to):
        raise Refusal(f"no conversion of {loss} to {to.__name__} is proven", hint=_HINTS.get(to, ""))
    return converted


def epsilon_at(loss: Loss, delta: Number) -> Fraction:
    """An ε, close to the smallest that is proven, for which `loss` is (ε, delta)-private."""
    return convert(loss, Approximate, delta=delta).epsilon


def _approximate(loss: Loss, delta: Fraction | None) -> Approximate:
    if isinstance(loss, Pure):
        loss = Approximate(loss.epsilon)
    if isinstance(loss, Approximate):
        return loss if delta is None else Approximate(_relaxed(loss, delta), delta)
    if delta is None:
        raise Refusal(f"{loss} is (ε, δ)-private for many pairs", hint="say which δ, as in delta='1e-6'")
    if isinstance(loss, Concentrated):
        return Approximate(_from_orders(loss, delta), delta)
    if isinstance(loss, KnowsEpsilon):
        return Approximate(loss.epsilon_at(delta), delta)
    return Approximate(_from_profile(loss, delta), delta)


def _concentrated(loss: Loss, _: Fraction | None) -> Concentrated | None:
    """ε tanh(ε/2) for Pure, the smallest possible, at most the ε²/2 of Bun & Steinke 2016, Proposition 3.3."""
    if isinstance(loss, Gaussian):
        return Concentrated(loss.mu_squared / 2)
    if isinstance(loss, Pure):
        loss = Approximate(loss.epsilon)
    if not isinstance(loss, Approximate):
        return None
    epsilon, small = loss.epsilon, exp(-loss.epsilon)
    rho = min(epsilon**2 / 2, epsilon, simpler_up((epsilon * ((1 - small) / (1 + small))).up))
    return Concentrated.capped(rho, loss.delta)


def _gaussian(loss: Loss, _: Fraction | None) -> Gaussian | None:
    """μ = −2 Φ⁻¹(1/(1 + e^ε)) for Pure (Liu, Sun, Jiang & Kong 2022): the smallest μ that any ε allows."""
    pure = _pure(loss)
    if pure is None or pure.epsilon > 10**6:  # beyond that a μ helps nobody, and e^ε has too many digits
        return None
    if pure.epsilon == 0:
        return Gaussian(0)
    corner = exp(-pure.epsilon) / (1 + exp(-pure.epsilon))
    top = Fraction(1)
    while normal_tail(top).high > corner.low:
        top *= 2
    half = least(lambda z: normal_tail(z).high <= corner.low, ZERO, top, WIDTH)
    return Gaussian.of(2 * half)


def _renyi(loss: Loss, _: Fraction | None) -> Renyi | None:
    if isinstance(loss, Gaussian):
        loss = Concentrated(loss.mu_squared / 2)
    if isinstance(loss, Concentrated) and loss.delta == 0:
        return Renyi.concentrated(loss)
    pure = _pure(loss)
    return None if pure is None else Renyi.pure(pure)


def _pure(loss: Loss, _: Fraction | None = None) -> Pure | None:
    if isinstance(loss, Pure):
        return loss
    if isinstance(loss, Approximate) and loss.delta == 0:
        return Pure(loss.epsilon)
    nothing = (isinstance(loss, Concentrated) and loss == Concentrated(0)) or loss == Gaussian(0)
    return Pure(0) if nothing else None


def _beyond(loss: Approximate | Concentrated, delta: Fraction) -> Fraction:
    """The part of `delta` that is not used up by the δ the loss already has."""
    if delta < loss.delta:
        raise Refusal(
            f"{loss} already has a larger δ than delta={spoken(delta)}", hint="ask for a δ of at least its own"
        )
    return (delta - loss.delta) / (1 - loss.delta)


def _relaxed(loss: Approximate, delta: Fraction) -> Fraction:
    """ln(e^ε₀ − t (1 + e^ε₀)): where the profile of the worst (ε₀, δ₀)-private mechanism meets a larger δ."""
    spare = _beyond(loss, delta)
    if spare == 0:
        return loss.epsilon
    if loss.delta_at(0) <= delta:
        return ZERO
    shrink = 1 - spare - spare * exp(-loss.epsilon)
    if shrink.low <= 0:
        return loss.epsilon
    return min(loss.epsilon, simpler_up(max(ZERO, (loss.epsilon + shrink.log()).up)))


def _from_orders(loss: Concentrated, delta: Fraction) -> Fraction:
    """αρ + ln(1/(αδ))/(α − 1) + ln(1 − 1/α) at a good α (Canonne, Kamath & Steinke 2020, Proposition 12)."""
    spare = _beyond(loss, delta)
    if loss.rho == 0:
        return ZERO
    if spare == 0:
        raise Refusal(f"{loss} needs a delta above its own {spoken(loss.delta)}", hint="ask for a larger delta")
    rho, rare = float(min(loss.rho, FAR)), float(log(spare).low)
    alpha = best_order(lambda a: a * rho - (math.log(a) + rare) / (a - 1) + math.log1p(-1 / a))
    epsilon = alpha * loss.rho - (log(alpha) + log(spare)) / (alpha - 1) + log(1 - 1 / alpha)
    return simpler_up(max(ZERO, epsilon.up))


def _from_profile(loss: Loss, delta: Fraction) -> Fraction:
    """The smallest ε at which the profile is certainly at most `delta`, to ten digits."""
    if loss.delta_at(0) <= delta:
        return ZERO
    low, high = ZERO, Fraction(1)
    while loss.delta_at(high) > delta:
        low, high = high, 2 * high
        if high > 1 << 64:
            raise Refusal(f"{loss} has no finite ε at delta={spoken(delta)}", hint="ask for a larger delta")
    return least(lambda epsilon: loss.delta_at(epsilon) <= delta, low, high, WIDTH)


_RULES: dict[type, Callable[[Loss, Fraction | None], Loss | None]] = {
    Approximate: _approximate,
    Concentrated: _concentrated,
    Gaussian: _gaussian,
    Pure: _pure,
    Renyi: _renyi,
}
_HINTS: dict[type, str] = {
    Pure: "it may exceed every ε with some probability: Approximate says how small that is",
    Concentrated: "convert to Approximate instead",
    Renyi: "it follows from Pure, Gaussian, and Concentrated with delta = 0",
    Gaussian: "it follows from Pure(ε) only, for ε up to a million",
}
