"""Terms of a private test: what all of them share, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.group_key import Key
from discreet.declared.table import Caps, Outline, column_of, keys_of
from discreet.errors import Refusal
from discreet.exact import Number, share, shown
from discreet.mechanisms import Takes
from discreet.mechanisms.mechanism import USUAL
from discreet.mechanisms.private_rows import Relation
from discreet.noise import Entropy
from discreet.noise.secure_random import words
from discreet.privacy import Approximate, Neighbours, Pure, Replace

_ROWS = 1 << 16  # that are held at once
_UNIT = 2.0**-53


@dataclass(frozen=True)
class TestResult:
    """A p-value: with data that the null hypothesis describes, it is at most p with probability p, noise included."""

    __test__: ClassVar[bool] = False  # for pytest, which takes it for a class of tests

    p_value: float
    statistic: float  # with noise
    says: str  # of what


class OfPeople:
    """What private tests say of themselves alike. Each row is of another person, or they would not be independent."""

    takes: ClassVar[Takes] = Takes.RELATION
    declared: ClassVar[tuple[str, ...]] = ("max_rows", "neighbours")

    epsilon: Fraction
    max_rows: int
    neighbours: Neighbours

    @property
    def privacy(self) -> Pure | Approximate:
        """ε as asked for."""
        return Pure(self.epsilon)

    @property
    def caps(self) -> Caps:
        """One row of a person."""
        return Caps(self.max_rows)

    @property
    def columns_read(self) -> Sequence[str]:
        """What it looks at."""
        raise NotImplementedError

    def error(self, confidence: Number = USUAL) -> None:
        """A p-value has no error; an interval is one."""
        share(confidence, "confidence")

    def refuse_unfit(self, known: Outline) -> None:
        """Refuse rows of which too little is declared, by public facts."""
        for name in self.columns_read:
            column_of(known, name)

    @property
    def moves(self) -> int:
        """How many cells one person moves by one, at most."""
        return 2 if isinstance(self.neighbours, Replace) else 1

    def _refuse_many(self) -> None:
        if self.max_rows != 1:
            raise Refusal(
                f"a test needs rows that are independent, and one person may have {self.max_rows}",
                hint="select one row for each person, as in SELECT …, avg(x) AS x … GROUP BY person; or --max-rows 1",
            )


def key_place(known: Outline, column: str, key: str) -> int:
    """Which of the declared keys of a column is meant."""
    keys = keys_of(known, column)
    spelled = [_spelled(each) for each in keys]
    if key.lower() not in [each.lower() for each in spelled]:
        raise Refusal(f"{column!r} has no key {shown(key)}", hint=f"it has {', '.join(spelled)}")
    return spelled.index(key) if key in spelled else [each.lower() for each in spelled].index(key.lower())


def _spelled(key: Key) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def uniforms(size: int, rng: Entropy) -> NDArray[np.float64]:
    """Numbers in (0, 1), for a simulation: never for noise."""
    return np.asarray(((words(size, rng=rng) >> np.uint64(11)).astype(np.float64) + 0.5) * _UNIT)


def numbers_of(
    relation: Relation, column: str, by: str | None, rng: Entropy
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Numbers of a column in an order that is drawn anew, and of each the place of its group among the declared keys.

    Rows without a number, or of none of the groups, are left out.
    """
    values, groups = [np.zeros(0)], [np.zeros(0, dtype=np.int64)]
    for batch in relation.batches(_ROWS, {column}, rng=rng):
        cells: Any = batch.column(column)
        steps = np.asarray(cells.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.float64)
        there = ~np.asarray(cells.is_null().to_numpy(zero_copy_only=False), dtype=bool)
        place = np.zeros(len(steps), dtype=np.int64)
        if by is not None:
            place = np.asarray(batch.column(by).to_numpy(zero_copy_only=False), dtype=np.int64)
        kept = there & (place >= 0)
        values.append(steps[kept])
        groups.append(place[kept])
    return np.concatenate(values), np.concatenate(groups)
