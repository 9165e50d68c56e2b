"""Membership: whether a person is among those whose averages were published.

Threat model: the attacker has the row of the person in question (a genome, from a hair), the published mean of each
column, and the means of a sample of the population that does not hold the person. Homer et al. (2008) did so with the
averages of genome studies, which were taken off the web for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import Ground, Refusal

Floats = NDArray[np.float64]


def homer(rows: ArrayLike, reference: ArrayLike, published: ArrayLike) -> Floats:
    """For each row how much nearer it is to what was published than to the reference: Σ |y − r| − |y − q|.

    Homer et al. 2008, without their scale, which is the same for all.
    """
    people, known, told = _checked(rows, reference, published)
    return np.asarray((np.abs(people - known) - np.abs(people - told)).sum(axis=1))


def inner_product(rows: ArrayLike, reference: ArrayLike, published: ArrayLike) -> Floats:
    """For each row how far it leans to where what was published leans: ⟨y − r, q − r⟩.

    Dwork, Smith, Steinke, Ullman & Vadhan 2015: it holds also against answers that are only near the means.
    """
    people, known, told = _checked(rows, reference, published)
    return np.asarray((people - known) @ (told - known))


@dataclass(frozen=True)
class Membership:
    """How well members are told from others: the area under the curve, and shares named at one threshold.

    The area is the chance that a member scores higher than an outsider. `caught` is the share of members that are
    named, `alarmed` that of outsiders.

    Guarantee: `ceiling`, that of `discreet.attack.ceiling` for a loss promised for two tables of which one has another
        row in the place of one person's, bounds the area on average, and twice it less one bounds the gap, if members
        and outsiders are drawn alike.
    Proof: docs/proofs/attacks.md.
    """

    area: float
    caught: float
    alarmed: float
    ceiling: Fraction | None = None

    @property
    def gap(self) -> float:
        """By how much likelier a member is named than an outsider."""
        return self.caught - self.alarmed

    def __str__(self) -> str:
        area = "" if self.ceiling is None else f" (at most {float(self.ceiling):.3f} on average)"
        gap = (
            "" if self.ceiling is None else f"; they differ by at most {200 * float(self.ceiling) - 100:.1f} on average"
        )
        return (
            f"area under the curve {self.area:.3f}{area}; named: {100 * self.caught:.1f} % of members, "
            f"{100 * self.alarmed:.1f} % of others{gap}"
        )


def told_apart(
    members: ArrayLike,
    outsiders: ArrayLike,
    practice: ArrayLike,
    *,
    alarms: float = 0.05,
    ceiling: Fraction | None = None,
) -> Membership:
    """Compare scores of members and outsiders. The threshold leaves a share `alarms` of `practice` above it.

    `practice` holds scores of people of whom the attacker knows that they are no members; the threshold sees no others.
    """
    inside, outside, own = (np.asarray(scores, dtype=np.float64) for scores in (members, outsiders, practice))
    if not all(scores.ndim == 1 and scores.size for scores in (inside, outside, own)) or not 0 < alarms < 1:
        raise Refusal("expected scores of members, outsiders and practice, and 0 < alarms < 1", ground=Ground.VALUE)
    above = np.searchsorted(np.sort(outside), inside, side="left")
    not_below = np.searchsorted(np.sort(outside), inside, side="right")
    area = float(((above + not_below) / 2).sum()) / (inside.size * outside.size)
    threshold = np.quantile(own, 1 - alarms)
    return Membership(area, float((inside > threshold).mean()), float((outside > threshold).mean()), ceiling)


def _checked(rows: ArrayLike, reference: ArrayLike, published: ArrayLike) -> tuple[Floats, Floats, Floats]:
    people, known, told = (np.asarray(each, dtype=np.float64) for each in (rows, reference, published))
    if people.ndim != 2 or not known.shape == told.shape == people.shape[1:]:
        raise Refusal(
            f"expected rows of as many columns as there are means, got {people.shape}, {known.shape}, {told.shape}",
            ground=Ground.VALUE,
        )
    return people, known, told
