"""Caps: how much of one unit counts."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import Ground, Refusal
from discreet.exact import count

MOST_GROUPS_A_UNIT = 10_000  # an engine's list of hashes has a limit; ours lies below it, and is public
MOST_ROWS_A_UNIT = 1 << 20


@dataclass(frozen=True)
class Caps:
    """How much of one unit counts: its rows, and the groups that these are in. None: nothing is said of it here."""

    max_rows: int | None = None
    max_groups: int | None = None

    def __post_init__(self) -> None:
        check_caps(self.max_rows, 1 if self.max_groups is None else self.max_groups)
        for name, cap in (("max_rows", self.max_rows), ("max_groups", self.max_groups)):
            object.__setattr__(self, name, None if cap is None else int(cap))  # also one of numpy's

    @property
    def rows(self) -> int:
        """The cap on a unit's rows, which a mechanism cannot do without."""
        if self.max_rows is None:
            raise Refusal(
                "a mechanism needs to know how many rows one unit may have",
                hint="declare --max-rows, or pass max_rows=",
            )
        return self.max_rows


def check_caps(max_rows: int | None, max_groups: int) -> None:
    """Refuse caps that are not whole numbers of at least 1: below that, a unit could do more than it is charged for."""
    if max_rows is not None and count(max_rows, "max_rows") > MOST_ROWS_A_UNIT:
        raise Refusal(f"expected max_rows <= {MOST_ROWS_A_UNIT}, got max_rows={max_rows}", ground=Ground.VALUE)
    if count(max_groups, "max_groups") > MOST_GROUPS_A_UNIT:
        raise Refusal(f"expected max_groups <= {MOST_GROUPS_A_UNIT}, got max_groups={max_groups}", ground=Ground.VALUE)
