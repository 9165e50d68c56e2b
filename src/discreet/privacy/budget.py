"""Budgets, losses not yet used (check first, then spend, never refund), and odometers, losses without a total."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Generic, TypeVar

from discreet.errors import OverBudget, Refusal
from discreet.exact import ZERO, Number, count, positive, probability, spoken
from discreet.interval_arithmetic import log, simpler_up
from discreet.privacy.convert import convert
from discreet.privacy.loss import AddRemove, Approximate, Concentrated, FilterLoss, Guarantee, Neighbours, Pure
from discreet.privacy.tradeoff import Gaussian

F = TypeVar("F", bound=FilterLoss)

_LINES = 4  # how many lines on either side of the nearest are compared; each is valid, so any choice among them is

_HINT = "ask for less, or a new budget"


@dataclass(frozen=True, init=False)
class Odometer(Generic[F]):
    """All losses so far, and the probability `delta` with which the reading may ever be wrong.

    Guarantee: choose mechanisms and prices adaptively and charge each before it runs. (1) Except with probability
        `delta`, the privacy loss is at most `bound().epsilon` at all times at once, if no charge has a δ of its own.
        (2) For every (ε, δ) fixed beforehand, stopping before the first charge after which `bound()` would exceed it
        makes everything released (ε, δ)-private. It is *not* claimed that a reading ε taken after seeing the answers
        makes them (ε, δ)-private: such an ε is a function of the answers.
    Proof: docs/proofs/odometer.md. Pure and Approximate add up. For Concentrated and Gaussian, exp((α−1)(loss − αΣρ))
        is a supermartingale for each α > 1, so Ville's inequality bounds the loss by a line in Σρ; there is one line
        for each power of two, and they share δ.

    `around` is the public guess of the total ρ near which the reading is tightest; `neighbours` are those that the
    reading speaks of, and what is promised for others is charged for these, or refused.
    """

    spent: F
    delta: Fraction
    around: Fraction
    neighbours: Neighbours

    def __init__(self, spent: F, delta: Number = 0, around: Number = 1, neighbours: Neighbours | None = None) -> None:
        object.__setattr__(self, "spent", spent)
        object.__setattr__(self, "delta", probability(delta, "delta"))
        object.__setattr__(self, "around", positive(around, "around"))
        object.__setattr__(self, "neighbours", AddRemove() if neighbours is None else neighbours)
        sums = isinstance(spent, (Pure, Approximate))
        if not sums and not isinstance(spent, (Concentrated, Gaussian)):
            raise Refusal(f"no odometer is proven for {spent}", hint="use Pure, Approximate, Concentrated or Gaussian")
        if sums == bool(self.delta):
            need = "sums are never wrong, so delta must be 0" if sums else "it needs a delta above 0"
            raise Refusal(f"an odometer of {type(spent).__name__}: {need}, got delta={delta}")

    def spend(self, guarantee: Guarantee[F]) -> Odometer[F]:
        """The odometer after this charge. None is too large for it: it only reads."""
        loss = charged(guarantee, self.spent, self.neighbours, "this odometer")
        return Odometer(self.spent + loss, self.delta, self.around, self.neighbours)

    def bound(self) -> Approximate:
        """The reading: what `Guarantee` above says about it, and no more."""
        if isinstance(self.spent, (Pure, Approximate)):
            return convert(self.spent, Approximate)
        total = convert(self.spent, Concentrated)
        epsilon = min((self._line(total.rho, k) for k in self._near(total.rho)), default=ZERO)
        return Approximate.capped(epsilon, self.delta + total.delta)

    def _near(self, rho: Fraction) -> range:
        if rho == 0:
            return range(0)
        ratio = rho / self.around
        k = ratio.numerator.bit_length() - ratio.denominator.bit_length()  # within one of log₂
        return range(k - _LINES, k + _LINES + 1)

    def _line(self, rho: Fraction, k: int) -> Fraction:
        """αρ + ln(1/δ_k)/(α − 1), with α best at ρ = around · 2^k and δ_k = (2/3) δ / ((|k|+1)(|k|+2)); Σ δ_k = δ."""
        rare = log(Fraction(3 * (abs(k) + 1) * (abs(k) + 2), 2) / self.delta)
        slope = simpler_up((rare / (self.around * Fraction(2) ** k)).sqrt().up, 32)  # α − 1; a function of k, not of ρ
        return simpler_up(((1 + slope) * rho + rare / slope).up)


@dataclass(frozen=True)
class Budget(Generic[F]):
    """What may be lost in all, what is lost already, and for which neighbours.

    Guarantee: if every mechanism is charged before it runs, everything released together loses at most `total`, also
        when each mechanism and its price are chosen after seeing the earlier answers. One that stays open and is asked
        in turns with others is charged whole by `open`, and `close` says that it answers no more.
    Proof: the measures that are taken here, by the type checker and when the program runs, have a composition theorem
        for sums under adaptive choice, named at their `fills` and proved in docs/proofs/filters.md; a refused charge
        runs nothing. For mechanisms asked in turns the theorem is that of Haney et al. 2023 for filters; it does not
        speak of zCDP with a δ, which is refused there.
    """

    total: F
    spent: F
    neighbours: Neighbours
    sessions: int = 0  # interactive mechanisms that are open

    def __post_init__(self) -> None:
        fillable(self.total, "a budget")
        alike(self.spent, self.total, "this budget")
        count(self.sessions, "sessions", least=0)
        if not self.spent <= self.total:
            name, spent, total = _beyond(self.spent, self.total, self.total)
            raise OverBudget(f"{name} {spent} is spent of {total}", hint=_HINT)

    @classmethod
    def of(cls, total: F, neighbours: Neighbours | None = None) -> Budget[F]:
        """A budget of which nothing is spent."""
        fillable(total, "a budget")
        return cls(total, 0 * total, neighbours or AddRemove())

    def __str__(self) -> str:
        return f"{self.spent} of {self.total} is spent"

    @property
    def left(self) -> F:
        """What may still be lost."""
        return self.total.less(self.spent)

    def spend(self, guarantee: Guarantee[F]) -> Budget[F]:
        """The budget after this charge; refuses without spending anything if it does not fit."""
        loss = charged(guarantee, self.total, self.neighbours, "this budget")
        if self.sessions and not _interleaves(loss):
            raise Refusal(
                f"this costs delta {spoken(vars(loss)['delta'])}, and beside an open session only charges without a "
                "delta are proven for a budget of rho",
                hint="close the session first, or ask what needs no delta",
            )
        after = self.spent + loss
        if not after <= self.total:
            name, price, left, total = _beyond(loss, self.left, self.left, self.total)
            raise OverBudget(f"this costs {name} {price}, and {left} of {total} is left", hint=_HINT)
        return replace(self, spent=after)

    def open(self, guarantee: Guarantee[F]) -> Budget[F]:
        """The budget after the whole price of an interactive mechanism, which from now on may be asked in turns."""
        if not _interleaves(charged(guarantee, self.total, self.neighbours, "this budget")):
            raise Refusal(
                f"a session of {guarantee.loss} is not proven beside other questions: its price in rho has a delta",
                hint="open it in a budget of epsilon and delta, or run it whole, without a session",
            )
        return replace(self.spend(guarantee), sessions=self.sessions + 1)

    def close(self) -> Budget[F]:
        """The budget after one open session has given its last answer."""
        if not self.sessions:
            raise Refusal(f"no session is open in this budget of {self.total}")
        return replace(self, sessions=self.sessions - 1)

    def explain(self, guarantee: Guarantee[F]) -> str:
        """What `spend` would do, in words and without spending."""
        try:
            self.spend(guarantee)
        except Refusal as refusal:
            return f"refused: {refusal.message}"
        return f"this fits: {guarantee.under(self.neighbours).loss} of {self.left} that is left"


def _interleaves(loss: FilterLoss) -> bool:
    """Whether sums of such losses are proven where mechanisms are asked in turns."""
    return not (isinstance(loss, Concentrated) and loss.delta)


def fillable(loss: object, place: str) -> None:
    """Refuse a measure whose sums are not proven when each next price is chosen after seeing answers (SOUNDNESS 6)."""
    if not callable(getattr(type(loss), "fills", None)):
        raise Refusal(
            f"{place} is not kept in {type(loss).__name__}: nothing is proven of its sums when the next price is chosen"
            " after seeing answers",
            hint="use Pure, Approximate, Concentrated or Gaussian; convert() turns other losses into these",
        )


def alike(loss: object, kept: object, place: str) -> None:
    """Refuse a loss in another measure than a place is kept in."""
    if type(loss) is not type(kept):
        ours, theirs = type(kept).__name__, type(loss).__name__
        raise Refusal(f"{place} is kept in {ours}, got a loss in {theirs}", hint=f"convert(loss, {ours}) may turn it")


def charged(guarantee: Guarantee[F], kept: F, neighbours: Neighbours, place: str) -> F:
    """What a guarantee costs in a place that is kept in this measure, for these neighbours. Only whole sentences do."""
    if not isinstance(guarantee, Guarantee):
        raise Refusal(
            f"expected a Guarantee, a loss with the neighbours that it is promised for, got {guarantee}",
            hint="write Guarantee(loss, AddRemove('person')), or whatever the mechanism's neighbours are",
        )
    alike(guarantee.loss, kept, place)
    return guarantee.under(neighbours).loss


def _beyond(loss: F, most: F, *told: F) -> tuple[str, ...]:
    """The first number of a loss that is more than in another: its name, itself, and what it is in those told."""
    parts = list(vars(loss))
    name = next((part for part in parts if vars(loss)[part] > vars(most)[part]), parts[0])
    return name, *(spoken(vars(each)[name]) for each in (loss, *told))


def balance(budget: Budget[F], entries: Iterable[Guarantee[F]]) -> Budget[F]:
    """The budget after the entries, in order."""
    return reduce(lambda rest, entry: rest.spend(entry), entries, budget)
