"""What is read off a release: a number with its standard error, and a curve of shares."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.release.histogram import Estimate, error_bar
from discreet.release.tree_variances import Reals


@dataclass(frozen=True)
class Reading(Estimate):
    """A number with its error, where one is known, and what has to be said about it."""

    note: str = ""

    def __str__(self) -> str:
        told = f"{self.value:.6g}"
        if self.span is not None:
            told += f" (from {self.span[0]:.6g} to {self.span[1]:.6g})"
        elif self.error is not None:
            told += f" ± {error_bar(self.error, self.value):.3g}"
        return f"{told} ({self.note})" if self.note else told


@dataclass(frozen=True, eq=False)
class Curve:
    """Rising shares: of all records, how much lies up to each value.

    Standard errors are not a number where there is none.
    """

    values: Reals
    shares: Reals
    errors: Reals | None
