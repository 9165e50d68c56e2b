"""Plans that were made before, by text: the same text under the same declarations is planned once."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from discreet.curator.catalogue import Catalogue
from discreet.sql.aggregation import Caps

T = TypeVar("T")
Allow = Callable[[set[str]], None]  # refuses tables that the asker may not read

MOST = 256
BYTES = 16 << 20  # of all of them as they are sent; here they take several times as many
HEAVIEST = 1 << 20  # of one: it is made anew each time rather than in the place of many


def key_of(sql: str, caps: Caps, granted: frozenset[str] | None, scalars: Sequence[object] = ()) -> Hashable:
    """What the plan of a question follows from, beside the declarations; scalars are what came before it said.

    Tables that are not granted are not there for the asker, so what may be asked about belongs to it as well.
    """
    return sql, caps, granted, tuple(map(repr, scalars))


def weight(made: object) -> int:
    """Bytes of something that was planned, as it is sent: a short text may ask for a plan of any size."""
    return len(pickle.dumps(made, pickle.HIGHEST_PROTOCOL))


@dataclass(frozen=True)
class _Kept:
    """What was made, which tables it reads, and how much it weighs."""

    made: object
    tables: frozenset[str]
    weight: int


class Plans:
    """What was planned under the newest declarations. Whether the asker may read its tables is asked every time."""

    def __init__(self) -> None:
        self._state: tuple[Catalogue | None, dict[Hashable, _Kept]] = None, {}

    def found(self, key: Hashable, known: Catalogue) -> tuple[object, frozenset[str]] | None:
        """What was made of this key, and which tables it reads; None if nothing was, or under other declarations."""
        declared, plans = self._state
        kept = plans.get(key) if declared is known else None
        return None if kept is None else (kept.made, kept.tables)

    def recalled(self, key: Hashable, known: Catalogue, plan: Callable[[Allow], T], allow: Allow) -> T:
        """What `plan` made of this key, now or earlier. It says which tables it reads; a refusal is not kept."""
        declared, plans = self._state
        if declared is not known:  # public tables are read while a plan is made, and their versions are declared
            plans = {}
            self._state = known, plans
        kept = plans.get(key)
        if kept is not None:
            allow(set(kept.tables))
            return cast("T", kept.made)
        read: set[str] = set()

        def noted(tables: set[str]) -> None:
            allow(tables)
            read.update(tables)

        made = plan(noted)
        new = _Kept(made, frozenset(read), weight((key, made)))
        if new.weight > HEAVIEST:
            return made
        while plans and (len(plans) >= MOST or new.weight + sum(each.weight for each in list(plans.values())) > BYTES):
            plans.pop(next(iter(plans)), None)
        plans[key] = new
        return made
