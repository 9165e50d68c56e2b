"""Constructor arguments of estimators, each declared once, and what they are as fields of a mechanism.

The constructors are those of dataclasses: they store what they are given, as scikit-learn has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import Refusal
from discreet.exact import Number, exact
from discreet.learn.estimator import optional
from discreet.privacy import AddRemove, Neighbours, Replace


def neighbours_of(given: Neighbours | str) -> Neighbours:
    """What is compared, as it is or by its name."""
    named: dict[object, Neighbours] = {"add-remove": AddRemove(), "replace": Replace()}
    if isinstance(given, str) and given in named:
        return named[given]
    if isinstance(given, (AddRemove, Replace)):
        return given
    raise Refusal(f"expected neighbours as 'add-remove' or 'replace', got {given!r}")


@dataclass(eq=False, repr=False, kw_only=True)
class PricedArguments:
    """What a fit may lose, by ε, by ε and δ, or by ρ; how far features reach; how many rows of a unit there are."""

    epsilon: Number | None = 1
    delta: Number = 0
    rho: Number | None = None
    bounds: Any = None  # a pair of numbers, or of lists of them
    max_rows: int = 1
    neighbours: Neighbours | str = "add-remove"

    def _priced(self) -> dict[str, Any]:
        return {
            "epsilon": optional(self.epsilon, "epsilon"),
            "delta": exact(self.delta, "delta"),
            "rho": optional(self.rho, "rho"),
            "max_rows": self.max_rows,
            "neighbours": neighbours_of(self.neighbours),
        }


@dataclass(eq=False, repr=False, kw_only=True)
class CellArguments(PricedArguments):
    """Of what reads features by cells: places between cuts, or categories."""

    epsilon: Number | None = field(default=1, kw_only=False)
    categories: Any = None  # lists of values, by the name or place of a feature
    cuts: int = 15

    def _over_cells(self, features: Sequence[str], label: str) -> dict[str, Any]:
        return {"features": tuple(features), "label": label, "cuts": self.cuts, **self._priced()}


@dataclass(eq=False, repr=False, kw_only=True)
class LineArguments(PricedArguments):
    """Of least squares: a label with bounds, a norm of rows, and whether there is an intercept."""

    label_bounds: Any = None  # a pair of numbers
    data_norm: Number | None = None
    fit_intercept: bool = True

    def _line(self, features: Sequence[str], label: str) -> dict[str, Any]:
        norm = optional(self.data_norm, "data_norm")
        known = {"fit_intercept": self.fit_intercept, "data_norm": norm, **self._priced()}
        return {"features": tuple(features), "label": label, **known}


@dataclass(eq=False, repr=False, kw_only=True)
class ClusterArguments(PricedArguments):
    """Of rounds over rows without a label, by bounds or within a norm."""

    data_norm: Number | None = None

    def _rounds(self, features: Sequence[str], rounds: int) -> dict[str, Any]:
        norm = optional(self.data_norm, "data_norm")
        return {"features": tuple(features), "data_norm": norm, "iterations": rounds, **self._priced()}


@dataclass(eq=False, repr=False, kw_only=True)
class RiskArguments:
    """Of convex risk by perturbation: what a fit may lose, how far rows reach, the ridge, and the way."""

    epsilon: Number = field(default=1, kw_only=False)
    delta: Number = "1e-9"
    bounds: Any = None  # a pair of numbers, or of lists of them
    data_norm: Number | None = None
    alpha: Number | None = None
    l1: Number = 0
    method: str = "automatic"
    fit_intercept: bool = True
    max_rows: int = 1
    neighbours: Neighbours | str = "add-remove"

    def _risk(self, features: Sequence[str], label: str) -> dict[str, Any]:
        return {
            "features": tuple(features),
            "label": label,
            "epsilon": exact(self.epsilon, "epsilon"),
            "delta": exact(self.delta, "delta"),
            "alpha": optional(self.alpha, "alpha"),
            "l1": exact(self.l1, "l1"),
            "method": self.method,
            "fit_intercept": self.fit_intercept,
            "data_norm": optional(self.data_norm, "data_norm"),
            "max_rows": self.max_rows,
            "neighbours": neighbours_of(self.neighbours),
        }
