"""Plans that were made before, by text: the same text under the same declarations is planned once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar, cast

from discreet.curator.catalogue import Catalogue
from discreet.sql.measured import Caps

T = TypeVar("T")
Allow = Callable[[set[str]], None]  # refuses tables that the asker may not read

MOST = 256
LETTERS = 150_000  # of the texts of all of them: a plan is many times as large as its text


def key_of(sql: str, caps: Caps, granted: frozenset[str] | None, scalars: Sequence[object] = ()) -> Hashable:
    """What the plan of a question follows from, beside the declarations; scalars are what came before it said.

    Tables that are not granted are not there for the asker, so what may be asked about belongs to it as well.
    """
    return sql, caps, granted, tuple(map(repr, scalars))


def _letters(key: Hashable) -> int:
    return sum(len(part) for part in key if isinstance(part, str)) if isinstance(key, tuple) else 0


class Plans:
    """What was planned under the newest declarations. Whether the asker may read its tables is asked every time."""

    def __init__(self) -> None:
        self._state: tuple[Catalogue | None, dict[Hashable, tuple[object, frozenset[str]]]] = None, {}

    def found(self, key: Hashable, known: Catalogue) -> tuple[object, frozenset[str]] | None:
        """What was made of this key, and which tables it reads; None if nothing was, or under other declarations."""
        declared, plans = self._state
        return plans.get(key) if declared is known else None

    def recalled(self, key: Hashable, known: Catalogue, plan: Callable[[Allow], T], allow: Allow) -> T:
        """What `plan` made of this key, now or earlier. It says which tables it reads; a refusal is not kept."""
        declared, plans = self._state
        if declared is not known:  # public tables are read while a plan is made, and their versions are declared
            plans = {}
            self._state = known, plans
        if key in plans:
            found, tables = plans[key]
            allow(set(tables))
            return cast("T", found)
        read: set[str] = set()

        def noted(tables: set[str]) -> None:
            allow(tables)
            read.update(tables)

        made = plan(noted)
        while plans and (len(plans) >= MOST or _letters(key) + sum(map(_letters, list(plans))) > LETTERS):
            plans.pop(next(iter(plans)), None)
        plans[key] = made, frozenset(read)
        return made
