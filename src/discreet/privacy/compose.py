"""What several mechanisms lose together, for (ε, δ): better than the plain sum, if all prices are fixed beforehand.

The plain sum is `+`. Everything here holds when each *mechanism* is chosen after seeing the earlier answers, as long as
every (ε, δ) and the number of mechanisms were fixed before the first answer. Nothing here is a filter: the theorems do
not cover whoever picks the next price, or when to stop, by looking at answers (Rogers, Roth, Ullman & Vadhan 2016);
that is what `Budget` is for. Proofs: docs/proofs/composition.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import Refusal
from discreet.exact import ONE, ZERO, Number, count, nonnegative, positive, probability, share, shown, spoken
from discreet.interval_arithmetic import Interval, exp, greatest, log, pi, simpler_up
from discreet.privacy.loss import TINY, Approximate, Pure, ln

Price: TypeAlias = Pure | Approximate
Prices: TypeAlias = Iterable[Price] | Mapping[Price, int]  # one by one, or how often each

STEEPEST = 1000  # an ε beyond which advanced composition, with its e^ε, says nothing that the plain sum does not
MANY = 10**7  # mechanisms that optimal composition counts out; a sum over more takes too long
_LARGEST = 10**6
_FINE = Fraction(1, 10**12)  # how near a search comes, relatively
_MISSES = tuple(Fraction(1, 10**digits) for digits in (13, 12, 11, 9, 6, 3, 1))  # how far from a guess is tried
_FAINTEST = -700.0  # the logarithm of a number that is still a float


def advanced(losses: Prices, *, slack: Number) -> Approximate:
    """Advanced composition: ε = √(2 ln(1/slack) Σε²) + Σ ε(e^ε − 1) and δ = slack + Σδ, rounded up.

    Dwork, Rothblum & Vadhan 2010, Theorem III.3, with one ε per mechanism. Fixed prices only, see above.
    """
    spare, prices = share(slack, "slack"), _tally(losses, STEEPEST)
    squares = sum((times * price.epsilon**2 for price, times in prices.items()), ZERO)
    drift = sum((times * price.epsilon * (exp(price.epsilon) - 1) for price, times in prices.items()), Interval.of(0))
    spread = (2 * squares * log(1 / spare)).sqrt()
    return Approximate.capped(simpler_up((drift + spread).up), spare + _deltas(prices))


def optimal_closed(losses: Prices, *, delta: Number) -> Approximate:
    """A bound for unequal prices at this total δ: the least of three formulas, rounded up.

    Kairouz, Oh & Viswanath 2017, Theorem 3.5. With d the part of δ that the mechanisms' own δ leave over, V = Σε² and
    a = Σ ε tanh(ε/2): min(Σε, a + √(2V ln(1/d)), a + √(2V ln(e + √V/d))). Fixed prices only, see above.
    """
    total, prices = probability(delta, "delta"), _tally(losses)
    plain = sum((times * price.epsilon for price, times in prices.items()), ZERO)
    spare = total - _deltas(prices)
    if spare < 0:
        raise _too_small(total, _deltas(prices))
    if spare == 0 or plain == 0:
        return Approximate.capped(plain, total)
    squares = Interval.of(sum((times * price.epsilon**2 for price, times in prices.items()), ZERO))
    drift = sum((times * _mean(price.epsilon) for price, times in prices.items()), Interval.of(0))
    tails = log(1 / spare), (exp(1) + squares.sqrt() / spare).log()
    spread = min((2 * squares * tail).sqrt().up for tail in tails)
    return Approximate.capped(simpler_up(min(plain, drift.up + spread)), total)


def optimal(loss: Price, times: int, *, delta: Number) -> Approximate:
    """The smallest ε that `times` mechanisms of this loss keep together at this total δ, rounded up.

    Kairouz, Oh & Viswanath 2017, Theorem 3.3: no mechanisms of this loss are worse than randomized response, and that
    one is computed. Floats look for ε; what is returned was proven with `optimal_delta`. Fixed prices only, see above.
    """
    times, total = _countable(times), probability(delta, "delta")
    _tally([loss])
    least, most = _failure(_delta(loss), times).up, times * loss.epsilon
    if total < least:
        raise _too_small(total, least)
    if optimal_delta(loss, times, 0) <= total:
        return Approximate.capped(ZERO, total)
    if total == least:
        return Approximate.capped(most, total)
    each, spare = float(loss.epsilon), ln((total - least) / (1 - least))
    guess = crossing(lambda x: _roughly(each, times, x) - spare, float(most)) if each else math.inf
    return Approximate.capped(proven(guess, lambda x: optimal_delta(loss, times, x) <= total, most), total)


def optimal_delta(loss: Price, times: int, epsilon: Number) -> Fraction:
    """The smallest δ for which `times` mechanisms of this loss are together (epsilon, δ)-private, rounded up.

    1 − (1 − δ)^k (1 − Σ_l C(k, l) [e^{(k−l)ε} − e^{epsilon + lε}]₊ / (1 + e^ε)^k) (Kairouz, Oh & Viswanath 2017,
    Theorem 3.3, at an arbitrary ε as in Murtagh & Vadhan 2016, Theorem 1.5). Fixed prices only, see above.
    """
    times, target = _countable(times), nonnegative(epsilon, "epsilon")
    _tally([loss])
    tail, failure = _worst(loss.epsilon, times, target), _failure(_delta(loss), times)
    return min(ONE, simpler_up((tail + failure * (1 - min(ONE, tail.down))).up))


def advanced_each(times: int, epsilon: Number, *, slack: Number) -> Pure:
    """The largest price that `times` mechanisms may have for `advanced` to promise (epsilon, slack), rounded down."""
    times, total, spare = count(times, "times"), positive(epsilon, "epsilon"), share(slack, "slack")
    most = min(total, Fraction(STEEPEST))
    return Pure(greatest(lambda x: advanced({Pure(x): times}, slack=spare).epsilon <= total, ZERO, most, _FINE))


def optimal_each(times: int, epsilon: Number, *, delta: Number) -> Pure:
    """The largest price that any `times` mechanisms may have to be together (epsilon, delta)-private, rounded down."""
    times, total, spare = _countable(times), positive(epsilon, "epsilon"), probability(delta, "delta")
    low, high = total / times, total + 2 * (1 + spare / (1 - spare))  # one mechanism alone may have that much at most
    _tally([Pure(low)])
    high = min(high, Fraction(_LARGEST))

    if spare == 0:
        return Pure(low)
    aim, first = ln(spare), max(ln(low), _FAINTEST)
    steps = crossing(lambda x: aim - _roughly(math.exp(first + x), times, float(total)), ln(high) - first)
    guess = min(high, Fraction(math.exp(first + steps)))
    near = (guess * (1 - miss) for miss in _MISSES)  # floats may guess, never answer
    return Pure(max(low, next((x for x in near if x <= low or optimal_delta(Pure(x), times, total) <= spare), low)))


def proven(guess: float, holds: Callable[[Fraction], bool], most: Fraction) -> Fraction:
    """A number just above `guess` that `holds`, or `most`, which is known to: floats may guess, never answer."""
    if not math.isfinite(guess):
        return most
    near = (simpler_up(Fraction(guess) * (1 + miss)) for miss in _MISSES)
    return min(most, next((x for x in near if x >= most or holds(x)), most))


def crossing(height: Callable[[float], float], high: float) -> float:
    """Where a falling function crosses zero between 0 and `high`."""
    low = 0.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if height(middle) > 0 else (low, middle)
    return high


def _delta(loss: Price) -> Fraction:
    return loss.delta if isinstance(loss, Approximate) else ZERO


def _tally(losses: Prices, largest: int = _LARGEST) -> Counter[Price]:
    prices = Counter(losses)
    if not prices:
        raise Refusal("composition needs at least one loss, got none")
    for price in prices:
        if price.epsilon > largest:
            raise Refusal(f"expected epsilon <= {largest}, got {price}, which promises nothing", hint="add the losses")
    return prices


def _countable(times: int) -> int:
    if count(times, "times") > MANY:
        hint = "use optimal_closed, Concentrated or Renyi, which do not count them out"
        raise Refusal(f"expected times <= {MANY} in optimal composition, got times={shown(times)}", hint=hint)
    return int(times)


def _deltas(prices: Counter[Price]) -> Fraction:
    return sum((times * _delta(price) for price, times in prices.items()), ZERO)


def _too_small(delta: Fraction, least: Fraction) -> Refusal:
    hint = "allow a larger delta, or give each mechanism a smaller one"
    return Refusal(f"delta={spoken(delta)} is less than the {spoken(least)} that the parts already have", hint=hint)


def _mean(epsilon: Fraction) -> Interval:
    """What randomized response loses on average: ε (e^ε − 1)/(e^ε + 1) = ε tanh(ε/2)."""
    shrunk = exp(-epsilon)  # of the small exponential, so that no ε overflows
    return epsilon * ((1 - shrunk) / (1 + shrunk))


def _failure(delta: Fraction, times: int) -> Interval:
    """1 − (1 − δ)^k, never above kδ."""
    if delta in {ZERO, ONE}:
        return Interval.of(delta)
    power = 1 - (times * log(1 - delta)).exp()
    plain = Interval.of(min(ONE, times * delta))
    return Interval(min(power.low, plain.low), min(power.high, plain.high))


def _worst(epsilon: Fraction, times: int, target: Fraction) -> Interval:
    """Pr[loss > target] weighted by 1 − e^{target − loss}, of `times` randomized responses.

    The outcome with l lies has probability t_l = C(k, l) e^{(k−l)ε}/(1+e^ε)^k and loss (k − 2l)ε. From the last l that
    counts downwards, t_{l−1}/t_l = l e^ε/(k − l + 1) falls, so the rest is below a geometric series. Where that last l
    lies far above the likeliest, it begins below it, and what is above is below another geometric series. If ε is tiny,
    1 − e^−x, which would cancel, is put between x − x² and x.
    """
    lies = math.ceil((times - target / epsilon) / 2) - 1 if epsilon else -1
    total = Interval.of(0)
    if lies < 0:
        return total
    grow, gain, wider = exp(epsilon), exp(-2 * epsilon), Interval.of(2 * epsilon)
    last, lies = lies, min(lies, _far_above(int(((times + 1) / (1 + grow)).low)))
    gap = Interval.of((times - 2 * lies) * epsilon - target)
    kept = (-gap).exp()
    chance = (_log_choose(times, lies) + (times - lies) * epsilon - times * (1 + grow).log()).exp()
    if lies < last:
        fall = (times - lies) / grow / (lies + 1)  # t_{l+1}/t_l, which is below 1 there and falls
        total = Interval(total.low, (chance * fall / (1 - fall)).high)
    while True:
        total = total + chance * (1 - kept if epsilon > TINY else Interval((gap - gap * gap).low, gap.high))
        ratio = grow * lies / (times - lies + 1)
        if lies == 0:
            return total
        if lies % 16 == 0 and ratio.high < 1:  # now and then, because it takes time
            rest = (chance * ratio / (1 - ratio)).high
            if rest < total.high.scaleb(-30):
                return Interval(total.low, (total + Interval(rest, rest)).high)
        chance, kept, gap, lies = chance * ratio, kept * gain, gap + wider, lies - 1


def _far_above(likeliest: int) -> int:
    """A number of lies that is exceeded with probability below e^−100 (Bernstein), for sums to begin at."""
    return likeliest + 16 * math.isqrt(likeliest) + 200


def _log_choose(n: int, k: int) -> Interval:
    return _log_factorial(n) - _log_factorial(k) - _log_factorial(n - k)


_STIRLING = tuple(  # B_2j / (2j (2j − 1)) for j = 1, 2, …
    Fraction(top, bottom * 2 * j * (2 * j - 1))
    for j, (top, bottom) in enumerate(
        [(1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798)], start=1
    )
)


def _log_factorial(n: int) -> Interval:
    """ln n!, beyond 1000 by Stirling's series: its error is below the first term left out (NIST DLMF, 5.11.ii)."""
    if n < 1000:
        return log(math.factorial(n))
    series = sum((term / Fraction(n) ** (2 * j + 1) for j, term in enumerate(_STIRLING)), ZERO)
    main = (n + Fraction(1, 2)) * log(n) - n + (2 * pi()).log() / 2 + series
    rest = Interval.of(2 / Fraction(n) ** (2 * len(_STIRLING) + 1))  # |B_20/(20·19)| < 2
    return Interval((main - rest).low, (main + rest).high)


def _roughly(epsilon: float, times: int, target: float) -> float:
    """The logarithm of `_worst` in floats, −∞ where there is nothing: good enough to look for ε."""
    lies = math.ceil((times - target / epsilon) / 2) - 1
    if lies < 0:
        return -math.inf
    grow = math.exp(min(epsilon, 700.0))  # of a larger one a float knows nothing
    lies = min(lies, _far_above(int((times + 1) / (1 + grow))))
    log_chance = math.lgamma(times + 1) - math.lgamma(lies + 1) - math.lgamma(times - lies + 1)
    log_chance += (times - lies) * epsilon - times * (epsilon + math.log1p(math.exp(-epsilon)))
    gap, chance, total = (times - 2 * lies) * epsilon - target, 1.0, 0.0
    while lies >= 0 and (chance > 1e-18 * total or lies * grow > times):
        total -= chance * math.expm1(-gap)
        chance *= lies / (times - lies + 1) * grow
        gap, lies = gap + 2 * epsilon, lies - 1
        if chance > 1e200:
            chance, total, log_chance = chance * 1e-200, total * 1e-200, log_chance + 200 * math.log(10)
    return log_chance + math.log(total) if total > 0 else -math.inf
