"""A question in SQL as a mechanism: asked of two homes, of which one lacks a person's rows.

Everything is as when an analyst asks: the planner, the price, the ledger, the rows, the noise. What comes out is all
that the analyst gets: columns, rows, errors beside them, or how the question was refused.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import Refusal
from discreet.exact import HALF, Number, count, positive, probability
from discreet.mechanisms.mechanism import Pair
from discreet.privacy.loss import Approximate, Loss, Pure

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.curator import Curator
    from discreet.curator.custody import Declared

WITH, WITHOUT = "with", "without"
_TOLD = ("columns", "types", "rows", "cost", "bounding", "spans", "notices", "noisy")


@dataclass(frozen=True, eq=False)
class Question:
    """A question at a price. Its input is `with` or `without`; every run buys a new draw.

    The coins are the curators' own, that is the operating system's.
    """

    sql: str
    privacy: Loss
    curators: dict[str, Curator]
    why: str

    def pairs(self) -> tuple[Pair[str], ...]:
        """The two homes."""
        return (Pair(WITH, WITHOUT, self.why),)

    def __call__(self, home: str, /) -> dict[str, Any]:
        """All that is told to who asks."""
        price = {"epsilon": self.privacy.epsilon}  # type: ignore[attr-defined]
        if isinstance(self.privacy, Approximate):
            price["delta"] = self.privacy.delta
        answer = self.curators[home].query(self.sql, fresh=True, **price)
        return {name: getattr(answer, name) for name in _TOLD}


@contextmanager
def questioned(  # noqa: PLR0913  # a question, the two homes, and how often
    sql: str,
    name: str,
    rows: pa.Table,
    said: Declared,
    *,
    unit: object,
    epsilon: Number,
    delta: Number = 0,
    runs: int,
) -> Iterator[Question]:
    """The question as a mechanism, of a table with all `rows` and of one without those whose unit is `unit`.

    `said` declares the table, and names a column as the unit. The budget is enough for `runs` runs in all.
    """
    import pyarrow.compute as pc  # noqa: PLC0415  # only who audits questions needs it

    from discreet.curator import Curator  # noqa: PLC0415
    from discreet.curator.custody import Custody, found_home  # noqa: PLC0415

    price, chance = positive(epsilon, "epsilon"), probability(delta, "delta")
    if said.unit is None or said.unit not in rows.column_names:
        raise Refusal(
            f"expected a column of the rows as the unit, got {said.unit!r}", hint="name it, as in --unit patient"
        )
    whose = pc.equal(rows[said.unit].cast("string"), str(unit))
    less = rows.filter(pc.fill_null(pc.invert(whose), True))  # noqa: FBT003
    if less.num_rows == rows.num_rows:
        raise Refusal(f"no row has {unit!r} as its {said.unit}", hint="name a unit that is there")
    whole = replace(
        said, epsilon=price * (count(runs, "runs") + 1), rho=None, delta=min(HALF, chance * (runs + 1)) or None
    )
    with tempfile.TemporaryDirectory() as folder:
        curators = {}
        for side, held in ((WITH, rows), (WITHOUT, less)):
            home = Path(folder) / side
            found_home(home, practice=True)
            Custody(home).add(name, held, whole)
            curators[side] = Curator(home)
        loss = Approximate(price, chance) if chance else Pure(price)
        yield Question(sql, loss, curators, f"{name} with and without the rows of {unit}")
