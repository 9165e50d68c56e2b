"""Terms of a fit: the fields that mechanisms of models share, checked and read exactly."""

from __future__ import annotations

from typing import Any, ClassVar

from discreet.declared.table import Caps, Outline, column_of
from discreet.errors import Refusal
from discreet.exact import Number, count, exact, share, shown
from discreet.learn.fit_price import FitLoss, loss_of
from discreet.mechanisms import Takes
from discreet.mechanisms.mechanism import USUAL, settle


def settle_columns(mechanism: Any) -> None:  # noqa: ANN401  # a frozen dataclass with these fields
    """Check the names of a mechanism's features, and of its label if it has one; and `max_rows` and `neighbours`."""
    names, label = mechanism.features, getattr(mechanism, "label", None)
    every = [*names, *([] if label is None else [label])]
    if not names or len(set(every)) < len(every) or not all(isinstance(each, str) for each in names):
        beside = "" if label is None else ", and a label beside them"
        raise Refusal(f"expected features of different names{beside}, got features={shown(names)}")
    rows = count(mechanism.max_rows, "max_rows")
    settle(mechanism, features=tuple(names), max_rows=rows, neighbours=mechanism.neighbours)


def settle_price(mechanism: Any) -> None:  # noqa: ANN401  # as above
    """Check a price that is ε, perhaps with δ, or ρ."""
    settle(
        mechanism,
        epsilon=None if mechanism.epsilon is None else exact(mechanism.epsilon, "epsilon"),
        delta=exact(mechanism.delta, "delta"),
        rho=None if mechanism.rho is None else exact(mechanism.rho, "rho"),
    )
    loss_of(mechanism.epsilon, mechanism.delta, mechanism.rho)


class OverRows:
    """What mechanisms of models say of themselves alike."""

    takes: ClassVar[Takes] = Takes.RELATION
    declared: ClassVar[tuple[str, ...]] = ("max_rows", "neighbours")

    features: tuple[str, ...]
    max_rows: int

    def refuse_unfit(self, known: Outline) -> None:
        """Refuse rows of which too little is declared, by public facts: a curator asks before anything is paid."""
        label = getattr(self, "label", None)
        for name in (*self.features, *([] if label is None else [label])):
            column_of(known, name)

    @property
    def caps(self) -> Caps:
        """So many rows of one unit."""
        return Caps(self.max_rows)

    def error(self, confidence: Number = USUAL) -> None:
        """How far off its numbers are depends on the rows."""
        share(confidence, "confidence")


class Priced:
    """What is bought by ε, by ε and δ, or by ρ."""

    epsilon: Any
    delta: Any
    rho: Any

    @property
    def privacy(self) -> FitLoss:
        """As asked for, for everything that is told together."""
        return loss_of(self.epsilon, self.delta, self.rho)
