"""What many mechanisms lose together: the total of every theorem that applies, and what each of many may lose.

All totals are upper bounds for parameters that were fixed beforehand; no central limit, no estimate. Each theorem has
its proof or source in docs/proofs; the loss distribution's also trusts floats as far as docs/proofs/profile.md says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log, log1p
from typing import TypeAlias

from discreet.errors import Refusal
from discreet.exact import FAR, ZERO, Number, count, positive, share
from discreet.interval_arithmetic import simpler_up
from discreet.privacy.amplify import poisson
from discreet.privacy.compose import (
    MANY,
    Price,
    advanced,
    advanced_each,
    optimal,
    optimal_closed,
    optimal_each,
)
from discreet.privacy.convert import convert, epsilon_at
from discreet.privacy.loss import AddRemove, Approximate, Concentrated, Guarantee, Pure, best_order, ln
from discreet.privacy.profile import Profile
from discreet.privacy.renyi import ORDERS, Renyi
from discreet.privacy.tradeoff import Gaussian

Uses: TypeAlias = Iterable[tuple[Number, int]]  # a parameter, and how often
SampledUses: TypeAlias = Iterable[tuple[Number, Number, int]]  # rate, sigma, how often

_BITS = 40  # a parameter that takes twice as many bits to write is rounded up to so many, lest sums grow without end
_FEW = 40  # with more kinds of mechanisms than this, time is saved where it costs almost nothing


@dataclass(frozen=True)
class Total:
    """A theorem, and the ε that it proves."""

    theorem: str
    epsilon: Fraction


@dataclass(frozen=True)
class Omission:
    """A theorem that says nothing about these mechanisms, and why."""

    theorem: str
    reason: str


@dataclass(frozen=True)
class Allowance:
    """A theorem, what it lets each of many databases lose, and what it proves that they lose together."""

    theorem: str
    each: Fraction
    total: Fraction


@dataclass(frozen=True)
class _Use:
    """One kind of mechanism in all the measures in which it is known."""

    times: int
    at: Callable[[Fraction], Price]  # its price at a given δ of its own
    renyi: Callable[[Sequence[Fraction]], Renyi]
    concentrated: Concentrated | None = None
    gaussian: Gaussian | None = None
    profile: Profile | None = None
    needs_delta: bool = True


def account(  # noqa: PLR0913  # one argument for each kind of mechanism
    *,
    gaussian: Uses = (),
    laplace: Uses = (),
    pure: Uses = (),
    discrete_gaussian: Uses = (),
    discrete_laplace: Uses = (),
    sampled_gaussian: SampledUses = (),
    delta: Number,
    omitted: Callable[[Omission], None] = lambda _: None,
) -> tuple[Total, ...]:
    """The total ε at this δ by every theorem that applies, tightest first; `omitted` hears of those that do not.

    A Gaussian use is (σ/sensitivity, times), a Laplace or pure one (ε each, times), a sampled one (rate, σ, times).
    `gaussian` and `laplace` are continuous noise. The integer noise that this package draws may lose a little more and
    goes under `discrete_gaussian`, which claims only what holds for every sensitivity, and `discrete_laplace`, which
    for a count is exactly the worst pure mechanism. Sampling is Poisson, for add/remove neighbours.
    """
    total = share(delta, "delta")
    uses = [
        *(_gaussian(positive(sigma, "sigma"), count(times, "times")) for sigma, times in gaussian),
        *(_laplace(positive(epsilon, "epsilon"), count(times, "times")) for epsilon, times in laplace),
        *(_pure(positive(epsilon, "epsilon"), count(times, "times")) for epsilon, times in (*pure, *discrete_laplace)),
        *(_discrete_gaussian(positive(sigma, "sigma"), count(times, "times")) for sigma, times in discrete_gaussian),
        *(_sampled(rate, positive(sigma, "sigma"), count(times, "times")) for rate, sigma, times in sampled_gaussian),
    ]
    if not uses:
        raise Refusal("there is nothing to account for", hint="name at least one mechanism, as in gaussian=[(10, 100)]")
    totals: list[Total] = []
    refused: list[Refusal] = []
    for theorem, proves in _theorems(uses, total):
        try:
            totals.append(Total(theorem, proves()))
        except Refusal as refusal:  # one theorem that does not apply is no reason to hide the others
            refused.append(refusal)
            omitted(Omission(theorem, refusal.message))
    if not totals:
        raise refused[0]
    return tuple(sorted(totals, key=lambda line: line.epsilon))


def lifetime(databases: int, epsilon: Number, delta: Number) -> tuple[Allowance, ...]:
    """What ε each of so many databases may use for a life in which all of them together lose (epsilon, delta).

    Every answer is rounded down, largest first; any ε-private mechanism qualifies, chosen adaptively.
    """
    k, total, spare = count(databases, "databases"), positive(epsilon, "epsilon"), share(delta, "delta")
    drv = advanced_each(k, total, slack=spare)
    answers = [
        Allowance(_BASIC, total / k, total),
        Allowance(_ADVANCED, drv.epsilon, advanced({drv: k}, slack=spare).epsilon),
    ]
    if k <= MANY:
        kov = optimal_each(k, total, delta=spare)
        answers.append(Allowance(_OPTIMAL, kov.epsilon, min(total, optimal(kov, k, delta=spare).epsilon)))  # twice
    return tuple(sorted(answers, key=lambda answer: answer.each, reverse=True))


_BASIC = "basic composition"
_ADVANCED = "advanced composition (Dwork, Rothblum & Vadhan 2010)"
_OPTIMAL = "optimal composition (Kairouz, Oh & Viswanath 2017)"
_CLOSED = "optimal composition, closed form (same, Theorem 3.5)"
_ZCDP = "zero-concentrated privacy (Bun & Steinke 2016)"
_RENYI = "Rényi privacy (Mironov 2017)"
_EXACT = "Gaussian privacy (Dong, Roth & Su 2022)"
_PROFILE = "privacy loss distribution, on a grid from above"


_Theorem: TypeAlias = tuple[str, Callable[[], Fraction]]  # its name, and the ε that it proves; or it refuses


def _theorems(uses: list[_Use], delta: Fraction) -> Iterator[_Theorem]:
    """Every theorem about mechanisms of these kinds."""
    yield from _by_price(uses, delta)
    yield from _by_moments(uses, delta)
    yield from _by_distribution(uses, delta)


def _by_price(uses: list[_Use], delta: Fraction) -> Iterator[_Theorem]:
    """Each mechanism gets an (ε, δ) of its own first. Where it needs a δ, half of the total is shared out for that."""
    needy = sum(use.times for use in uses if use.needs_delta)
    slack, own = (delta / 2, delta / 2 / needy) if needy else (delta, ZERO)
    prices: Counter[Price] = Counter()
    for use in uses:
        prices[use.at(own)] += use.times
    plain = ((use.times, use.at(2 * own)) for use in uses) if len(uses) <= _FEW else ((n, p) for p, n in prices.items())
    yield _BASIC, lambda: sum((times * price.epsilon for times, price in plain), ZERO)
    yield _ADVANCED, lambda: advanced(prices, slack=slack).epsilon
    yield _CLOSED, lambda: optimal_closed(prices, delta=delta).epsilon
    if len(prices) == 1:
        ((price, times),) = prices.items()
        yield _OPTIMAL, lambda: optimal(price, times, delta=delta).epsilon


def _by_moments(uses: list[_Use], delta: Fraction) -> Iterator[_Theorem]:
    known = [(use.times, use.concentrated) for use in uses if use.concentrated is not None]
    orders = ORDERS
    if len(known) == len(uses):
        loss = sum((times * concentrated for times, concentrated in known), Concentrated(0))
        yield _ZCDP, lambda: epsilon_at(loss, delta)
        orders = _nearest(loss, delta) if len(uses) > _FEW else ORDERS

    def curve() -> Renyi:
        curves = [use.times * use.renyi(orders) for use in uses]
        return sum(curves[1:], curves[0])

    yield _RENYI, lambda: curve().epsilon_at(delta)


def _by_distribution(uses: list[_Use], delta: Fraction) -> Iterator[_Theorem]:
    gaussians = [use.times * use.gaussian for use in uses if use.gaussian is not None]
    if len(gaussians) == len(uses):
        yield _EXACT, lambda: sum(gaussians[1:], gaussians[0]).epsilon_at(delta)
    profiles = [use.times * use.profile for use in uses if use.profile is not None]
    if len(profiles) == len(uses):
        yield _PROFILE, lambda: _distribution(profiles, delta)


def _distribution(profiles: list[Profile], delta: Fraction) -> Fraction:
    together = Profile.together(profiles)
    if sum(times for _, times in together.events) > MANY:
        raise Refusal(f"it is worked out for at most {MANY} mechanisms")
    return together.epsilon_at(delta)


def _nearest(loss: Concentrated, delta: Fraction) -> tuple[Fraction, ...]:
    """The few orders around the one that zCDP would take: computing all of them for many mechanisms takes long."""
    rho, far = float(min(loss.rho, FAR)), -ln(delta)
    best = best_order(lambda a: a * rho + (far + a * log1p(-1 / a) - log(a - 1)) / (a - 1))
    return tuple(sorted(sorted(ORDERS, key=lambda order: abs(log(order - 1) - log(best - 1)))[:9]))


def _pure(epsilon: Fraction, times: int) -> _Use:
    loss = Pure(epsilon)
    return _Use(
        times,
        at=lambda _: loss,
        renyi=lambda orders: Renyi.pure(loss, orders),
        concentrated=_concentrated(loss),
        profile=Profile.pure(epsilon),
        needs_delta=False,
    )


def _laplace(epsilon: Fraction, times: int) -> _Use:
    loss = Pure(epsilon)
    return _Use(
        times,
        at=lambda _: loss,
        renyi=lambda orders: Renyi.laplace(epsilon, orders),
        concentrated=_concentrated(loss),
        profile=Profile.laplace(epsilon),
        needs_delta=False,
    )


def _concentrated(loss: Pure) -> Concentrated:
    return Concentrated(simpler_up(convert(loss, Concentrated).rho, _BITS))


def _gaussian(sigma: Fraction, times: int) -> _Use:
    loss = Gaussian(simpler_up(1 / sigma**2, _BITS))
    return _Use(
        times,
        at=lambda delta: Approximate(loss.epsilon_at(delta), delta),
        renyi=lambda orders: Renyi.concentrated(convert(loss, Concentrated), orders),
        concentrated=convert(loss, Concentrated),
        gaussian=loss,
        profile=Profile.gaussian(sigma),
    )


def _discrete_gaussian(sigma: Fraction, times: int) -> _Use:
    loss = Concentrated(simpler_up(1 / (2 * sigma**2), _BITS))  # Canonne, Kamath & Steinke 2020, Theorem 4
    return _Use(
        times,
        at=lambda delta: convert(loss, Approximate, delta=delta),
        renyi=lambda orders: Renyi.concentrated(loss, orders),
        concentrated=loss,
    )


def _sampled(rate: Number, sigma: Fraction, times: int) -> _Use:
    inner, profile, part = Gaussian.noise(sigma**2), Profile.poisson_gaussian(rate, sigma), positive(rate, "rate")

    def at(delta: Fraction) -> Approximate:
        if delta >= part:  # with that probability nobody is in the sample
            return Approximate(0, delta)
        whole = Approximate(inner.epsilon_at(delta / part), delta / part)
        return poisson(Guarantee(whole, AddRemove()), part).loss

    return _Use(times, at=at, renyi=lambda orders: Renyi.sampled_gaussian(rate, sigma, orders), profile=profile)
