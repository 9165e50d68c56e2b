"""Terms that an asker names, and the quote for them: a price, or the least one that reaches an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import TypedDict, cast

from discreet.curator.catalogue import Population
from discreet.curator.explain import error_of, expected
from discreet.curator.price import Priced, each, priced, too_low
from discreet.errors import Ground, Refusal
from discreet.exact import Number, positive, probability, share, shown, spoken
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.mechanisms import GaussianVector, LaplaceVector
from discreet.mechanisms.mechanism import USUAL
from discreet.sql.plan import Part, Question, Statistic

_WIDEST = 1 << 54  # of noise, in numbers of a row
_DELTA_SHARE = 1000  # the part of a population's δ that one question may use to name groups
_DIGITS = 30  # of a price: the books add prices up exactly, so the sum has the digits of them all


class TermsGiven(TypedDict, total=False):
    """Terms of a question as they are named in a call or a request; what is left out is as in `Terms`."""

    epsilon: Number | None
    rho: Number | None
    error: Number | None
    delta: Number | None
    confidence: Number
    fresh: bool
    free: bool
    within: bool
    max_rows: int | None
    max_groups: int | None


@dataclass(frozen=True)
class Terms:
    """Terms of a question: a price or an error, and how it is to be answered."""

    epsilon: Number | None = None
    rho: Number | None = None
    error: Number | None = None
    delta: Number | None = None
    confidence: Number = USUAL
    fresh: bool = False
    free: bool = False  # answer only from what was bought before: at this price, or the best there is
    within: bool = False  # answer with what is left if the price does not fit
    max_rows: int | None = None
    max_groups: int | None = None

    def __post_init__(self) -> None:
        given = [word for word in ("epsilon", "rho", "error") if getattr(self, word) is not None]
        if len(given) > 1:
            raise Refusal(
                f"a question names one of epsilon, rho and error, got {' and '.join(given)}", ground=Ground.VALUE
            )
        if self.free and (self.fresh or self.within):
            bought = " and ".join(word for word in ("fresh", "within") if getattr(self, word))
            raise Refusal(f"what is free was bought before, and {bought} buys")

    @classmethod
    def of(cls, terms: Mapping[str, object]) -> Terms:
        """The terms that are given. A word that is none of theirs is refused by name."""
        return cls(**given(terms))

    @property
    def named(self) -> bool:
        """Whether a price or an error was named."""
        return any(value is not None for value in (self.epsilon, self.rho, self.error))


def given(terms: Mapping[str, object]) -> TermsGiven:
    """The same terms, unless one of them has no meaning."""
    known = TermsGiven.__annotations__
    for word in terms:
        if word not in known:
            near = get_close_matches(word, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"it may say {', '.join(known)}"
            raise Refusal(f"a question has no {shown(word)}", hint=hint)
    return cast("TermsGiven", terms)


def quote(
    parts: Sequence[Part], population: Population, asked: Terms, question: Question | None = None
) -> tuple[Priced, ...]:
    """The parts of a question with their prices. An error that is asked for is that of its answer's columns."""
    needs = any(not part.measurement.declared for part in parts)
    if asked.error is not None:
        return _accurate(parts, population, asked, question)
    prices = fitting(priced(parts, _loss(population, asked, needs=needs), population.neighbours))
    for word, given in (("epsilon", asked.epsilon), ("rho", asked.rho)):
        if given is not None:  # after `fitting`: 1e-40 is too low a price, not too long a one
            _brief(positive(given, word), word)
    return prices


def fitting(prices: tuple[Priced, ...]) -> tuple[Priced, ...]:
    """The prices, unless one is so low that its noise is larger than any number could be: than 2^54 times a row's.

    A count is a bigint, which holds it then: beyond scale b, Laplace noise is larger than t with probability at most
    e^(−t/b), and Gaussian noise of deviation σ at most 2·e^(−t²/2σ²). With b, σ ≤ 2^54 and less than 2^61 rows, 2^63
    is reached with less than e^−300.
    """
    for price in prices:
        for charge in price.charges:
            wide = charge.mechanism
            widest = _WIDEST * (each(charge.what) if isinstance(charge.what, Statistic) else 1)
            if (isinstance(wide, LaplaceVector) and wide.scale > widest) or (
                isinstance(wide, GaussianVector) and wide.variance > widest**2
            ):
                raise too_low()
    return prices


def _brief(number: Fraction, name: str) -> Fraction:
    """The number, unless it takes so many digits that sums of such prices could not be worked with any more."""
    if number.denominator > 10**_DIGITS:
        raise Refusal(
            f"expected {name} in at most {_DIGITS} digits, got {name}={spoken(number)}",
            hint=f"write the price with at most {_DIGITS} digits",
            ground=Ground.VALUE,
        )
    return number


def _loss(population: Population, asked: Terms, *, needs: bool) -> BudgetLoss:
    total = population.total
    prices = {"epsilon": asked.epsilon, "rho": asked.rho}
    given = prices.pop(total.word)
    if any(other is not None for other in prices.values()):
        raise Refusal(
            f"the budget of {population.name!r} is kept in {total.word}", hint=f"name a price with {total.word}="
        )
    amount = population.default if given is None else positive(given, total.word)
    return total.at(amount, _delta(total, asked) if needs else Fraction(0))


def _delta(total: BudgetLoss, asked: Terms) -> Fraction:
    if asked.delta is not None:
        return _brief(probability(asked.delta, "delta"), "delta")
    return total.delta / _DELTA_SHARE


def _accurate(
    parts: Sequence[Part], population: Population, asked: Terms, question: Question | None
) -> tuple[Priced, ...]:
    """The cheapest price at which every number of the question is within the error asked for."""
    needs = any(not part.measurement.declared for part in parts)
    wanted, sure = _brief(positive(asked.error or 0, "error"), "error"), share(asked.confidence, "confidence")
    word = population.total.word

    def at(amount: Fraction) -> tuple[Priced, ...]:
        loss = _loss(population, Terms(**{word: amount, "delta": asked.delta}), needs=needs)  # type: ignore[arg-type]
        return priced(parts, loss, population.neighbours)

    def fits(amount: Fraction) -> bool:
        return all(error <= wanted for error in _errors(at(amount), question, sure))

    high = Fraction(1)
    while not fits(high):
        high *= 2
        if high > 1 << 40:
            raise Refusal(f"no price is high enough for error={asked.error}")
    low = high / 2
    while low > Fraction(1, 1 << 40) and fits(low):
        high, low = low, low / 2
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return fitting(at(high))


def _errors(prices: tuple[Priced, ...], question: Question | None, confidence: Fraction) -> list[Fraction]:
    """The errors of what is shown; of a question that shows no noisy number, of what is measured."""
    measured = [error for price in prices for error in data_free_errors(price, confidence)]
    shown = [] if question is None else expected(question, prices, confidence)
    for column in shown:
        if column.error is None:
            raise Refusal(
                f"the error of column {column.name!r} is not known before paying, so it cannot be asked for",
                hint="name a price, or ask for COUNT and SUM and compute with the answers",
            )
    return [column.error for column in shown if column.error is not None] or measured


def data_free_errors(price: Priced, confidence: Fraction) -> list[Fraction]:
    """The errors of a part's numbers in their own units; refuses if one of them depends on the data."""
    errors = []
    for aggregate in price.part.aggregates:
        error = error_of(aggregate, price, confidence)
        if error is None:
            raise Refusal(
                f"the error of {aggregate.kind.upper()} depends on the data, so it cannot be asked for",
                hint="name a price, or ask for COUNT and SUM and divide",
            )
        errors.append(error)
    return errors
